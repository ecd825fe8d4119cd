package mcp

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWriteAndReadFile(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	r := s.tool("write_file", m{"path": "m/a.txt", "content": "hé\n"}).ok()
	if diff := cmp.Diff(m{"status": "ok", "path": "m/a.txt", "size": 4.0, "created": true}, r.fields()); diff != "" {
		t.Error(diff)
	}
	if r.fields()["status"] == nil || !strings.HasPrefix(r.text(), `{"status":"ok"`) {
		t.Errorf("the text is %q", r.text())
	}
	if again := s.tool("write_file", m{"path": "m/a.txt", "content": "hé\n"}).ok(); again.fields()["created"] != false {
		t.Errorf("a second write: %s", again.raw)
	}
	r = s.tool("read_file", m{"path": "m/a.txt"}).ok()
	want := m{"path": "m/a.txt", "size": 4.0, "mime_type": "text/plain", "content": "hé\n", "first_line": 1.0, "last_line": 1.0}
	if diff := cmp.Diff(want, r.fields()); diff != "" {
		t.Error(diff)
	}
	if r.text() != "hé\n" {
		t.Errorf("the text is %q", r.text())
	}
	empty := s.tool("write_file", m{"path": "m/empty", "content": ""}).ok()
	if empty.fields()["size"] != 0.0 {
		t.Errorf("an empty file: %s", empty.raw)
	}
	if r := s.tool("read_file", m{"path": "m/empty"}).ok(); r.fields()["content"] != "" {
		t.Errorf("an empty file: %s", r.raw)
	}
	s.tool("delete_file", m{"path": "m/a.txt"}).ok()
	s.tool("delete_file", m{"path": "m/a.txt"}).fails("m/a.txt")
	s.tool("delete_file", m{"path": "m"}).fails("directory")
	s.tool("read_file", m{"path": "m"}).fails("list_files")
	s.tool("read_file", m{"path": "none"}).fails("none", "list_files")
}

func TestReadFileRanges(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.write("long.txt", strings.Repeat("0123456789abcdef\n", 5000))
	s.write("wide.txt", strings.Repeat(strings.Repeat("ä", 1000)+"\n", 1000))
	s.write("one.txt", strings.Repeat("é", maxText)+"\nend")
	s.write("three.txt", "1\n2\n3")
	for name, tt := range map[string]struct {
		args              m
		lines             int
		first, last, next float64
		text              string
	}{
		"long":           {m{"path": "long.txt"}, 2000, 1, 2000, 2001, "go on with first_line 2001]"},
		"its middle":     {m{"path": "long.txt", "first_line": 2001, "line_count": 2}, 2, 2001, 2002, 2003, "2003]"},
		"its end":        {m{"path": "long.txt", "first_line": 4999}, 2, 4999, 5000, 0, "abcdef\n"},
		"wide":           {m{"path": "wide.txt"}, 131, 1, 131, 132, "132]"},
		"one cut":        {m{"path": "one.txt"}, 0, 1, 1, 2, "line 1 is longer"},
		"after it":       {m{"path": "one.txt", "first_line": 2}, 0, 2, 2, 0, "end"},
		"three":          {m{"path": "three.txt", "first_line": 2, "line_count": 1}, 1, 2, 2, 3, "2\n[lines 2 to 2"},
		"no line end":    {m{"path": "three.txt", "first_line": 3}, 0, 3, 3, 0, "3"},
		"whole numbers":  {m{"path": "three.txt", "first_line": 2.0}, 1, 2, 3, 0, "2\n3"},
		"null is absent": {m{"path": "three.txt", "first_line": nil}, 2, 1, 3, 0, "1\n2\n3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.on(t)
			r := s.tool("read_file", tt.args).ok()
			f := r.fields()
			next, _ := f["next_line"].(float64)
			content := f["content"].(string)
			if f["first_line"] != tt.first || f["last_line"] != tt.last || next != tt.next || strings.Count(content, "\n") != tt.lines {
				t.Errorf("lines %v to %v, next %v, %d line ends", f["first_line"], f["last_line"], next, strings.Count(content, "\n"))
			}
			if !strings.Contains(r.text(), tt.text) || len(content) > maxText {
				t.Errorf("%d bytes end with %q", len(content), r.text()[max(0, len(r.text())-100):])
			}
		})
	}
	s.tool("read_file", m{"path": "three.txt", "first_line": 9}).fails("3 lines", "9")
	s.tool("read_file", m{"path": "three.txt", "first_line": 0}).fails("first_line")
	s.tool("read_file", m{"path": "three.txt", "line_count": 2001}).fails("line_count", "2000")
}

// png is the smallest picture.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestReadFileKinds(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	data, _ := base64.StdEncoding.DecodeString(png)
	s.write("dot.png", string(data))
	s.write("dot.txt", string(data)) // the name lies
	s.write("text.png", "not a picture\n")
	s.write("latin.txt", "caf\xe9\n")
	s.write("zip.bin", "PK\x03\x04\x00\x00")
	s.write("big.png", string(data)+strings.Repeat("\x00", maxImage))
	for _, name := range []string{"dot.png", "dot.txt"} {
		r := s.tool("read_file", m{"path": name}).ok()
		if len(r.Content) != 1 || r.Content[0].Type != "image" || r.Content[0].Data != png || r.Content[0].MimeType != "image/png" {
			t.Errorf("%s: %s", name, r.raw)
		}
	}
	if r := s.tool("read_file", m{"path": "text.png"}).ok(); r.text() != "not a picture\n" {
		t.Errorf("text.png: %s", r.raw)
	}
	r := s.tool("read_file", m{"path": "latin.txt"}).ok()
	if r.fields()["content"] != "caf\ufffd\n" || !strings.Contains(r.text(), "not UTF-8") {
		t.Errorf("latin.txt: %s", r.raw)
	}
	s.tool("read_file", m{"path": "zip.bin"}).fails("application/zip", "workspace:///zip.bin")
	s.tool("read_file", m{"path": "big.png"}).fails("5242880")
}

func TestListFiles(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, name := range []string{"a/b/c/deep.txt", "a/one.txt", "a/.git/HEAD", "z.txt"} {
		s.write(name, "12345")
	}
	if err := os.Symlink("a", filepath.Join(s.root, "link")); err != nil {
		t.Fatal(err)
	}
	names := func(args m) string {
		t.Helper()
		var list []string
		r := s.tool("list_files", args).ok()
		for _, e := range r.fields()["entries"].([]any) {
			entry := e.(m)
			list = append(list, entry["name"].(string)+":"+entry["type"].(string))
			if modified, err := time.Parse(time.RFC3339, entry["modified"].(string)); err != nil || modified.IsZero() {
				t.Errorf("%v: %v", entry, err)
			}
		}
		if r.text() != string(r.Structured) {
			t.Errorf("the text is %q", r.text())
		}
		return strings.Join(list, " ")
	}
	for want, args := range map[string]m{
		"a:dir link:symlink z.txt:file": {},
		".git:dir b:dir one.txt:file":   {"path": "a"},
		"a:dir a/.git:dir a/b:dir a/b/c:dir a/one.txt:file link:symlink z.txt:file": {"depth": 3},
		".git:dir b:dir b/c:dir b/c/deep.txt:file one.txt:file":                     {"path": "link/", "depth": 20},
	} {
		if got := names(args); got != want {
			t.Errorf("%v: got %q, want %q", args, got, want)
		}
	}
	if got := s.tool("list_files", m{"path": "/"}).ok().fields()["path"]; got != "/" {
		t.Errorf("the path is %v", got)
	}
	s.tool("list_files", m{"depth": 21}).fails("depth", "20")
	s.tool("list_files", m{"path": "z.txt"}).fails("z.txt")
	s.tool("list_files", m{"path": "none"}).fails("none")
	for i := range maxEntries + 1 {
		s.write("many/"+strings.Repeat("x", i%50)+"-"+time.Duration(i).String(), "")
	}
	f := s.tool("list_files", m{"path": "many"}).ok().fields()
	if len(f["entries"].([]any)) != maxEntries || f["truncated"] != true {
		t.Errorf("%d entries, truncated %v", len(f["entries"].([]any)), f["truncated"])
	}
}

// A link that leads outside is refused by every tool, in the same way, and
// deleting it removes the link alone.
func TestCase_F01(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": outside, "new.txt": filepath.Join(outside, "new.txt")} {
		if err := os.Symlink(to, filepath.Join(s.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []result{
		s.tool("read_file", m{"path": "out/secret.txt"}),
		s.tool("write_file", m{"path": "new.txt", "content": "x"}),
		s.tool("write_file", m{"path": "out/x.txt", "content": "x"}),
		s.tool("delete_file", m{"path": "out/secret.txt"}),
		s.tool("list_files", m{"path": "out"}),
		s.tool("read_file", m{"path": "../secret.txt"}),
		s.tool("read_file", m{"path": secret}),
		s.tool("run_prompt", m{"prompt": "SAY:x", "workspace": "out"}),
		s.tool("run_prompt", m{"prompt": "SAY:x", "workspace": "../x"}),
	} {
		r.fails("leaves the workspace root")
		if strings.Contains(strings.ReplaceAll(r.text(), secret, ""), outside) {
			t.Errorf("%q tells of the box", r.text())
		}
	}
	read := s.do(t.Context(), "POST", "/mcp", message(1, "resources/read", m{"uri": "workspace:///out/secret.txt"})).last()
	if read.Error == nil || !strings.Contains(read.Error.Message, "leaves the workspace root") {
		t.Errorf("the resource: %+v", read)
	}
	s.tool("delete_file", m{"path": "out"}).ok()
	s.tool("delete_file", m{"path": "new.txt"}).ok()
	list, err := os.ReadDir(outside)
	if err != nil || len(list) != 1 || list[0].Name() != "secret.txt" {
		t.Errorf("outside there is %v, %v", list, err)
	}
}

// Names that no file can have are told so, escaped.
func TestCase_F03(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for name, word := range map[string]string{
		"a\x00.txt":              `a\x00.txt`,
		strings.Repeat("n", 256): "nnn",
	} {
		s.tool("read_file", m{"path": name}).fails(word)
		s.tool("write_file", m{"path": name, "content": "x"}).fails(word)
		s.tool("delete_file", m{"path": name}).fails(word)
		s.tool("list_files", m{"path": name}).fails(word)
		s.tool("run_prompt", m{"prompt": "SAY:x", "workspace": name}).fails(word)
	}
	s.tool("write_file", m{"path": "a\nb", "content": "x"}).fails(`a\nb`)
	s.tool("write_file", m{"path": "", "content": "x"}).fails()
	s.tool("list_files", nil).ok()
}
