package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestResources(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	dot, _ := base64.StdEncoding.DecodeString(png)
	s.write("a/ünï code #1?.md", "# hé")
	s.write("dot.png", string(dot))
	s.write(".hidden/x", "x")
	s.write("node_modules/x", "x")
	session := s.connect("2025-06-18")
	list, err := session.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range list.Resources {
		uris = append(uris, r.URI+" "+r.MIMEType)
	}
	if want := []string{"workspace:///a/%C3%BCn%C3%AF%20code%20%231%3F.md text/markdown", "workspace:///dot.png image/png"}; !slices.Equal(uris, want) {
		t.Errorf("the list is %q", uris)
	}
	read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: list.Resources[0].URI})
	if err != nil || read.Contents[0].Text != "# hé" {
		t.Errorf("%+v, %v", read, err)
	}
	read, err = session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "workspace:///dot.png"})
	if err != nil || string(read.Contents[0].Blob) != string(dot) || read.Contents[0].MIMEType != "image/png" {
		t.Errorf("%+v, %v", read, err)
	}
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "workspace:///{+path}" {
		t.Errorf("%+v, %v", templates, err)
	}
	for _, uri := range []string{"workspace:///none", "workspace:///a", "workspace:///../x", "workspace:///a%00", "file:///etc/passwd", "workspace:///%zz"} {
		if _, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s was read", uri)
		}
	}
}

// The list comes in pages, and every file is in one of them.
func TestResourcePages(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var want []string
	for i := range 450 {
		name := fmt.Sprintf("d%02d/e%d/f%03d", i%7, i%3, i)
		if i%10 == 0 {
			name = fmt.Sprintf("d%02d-%03d", i%7, i) // sorts between the directory and what is in it
		}
		s.write(name, "")
		want = append(want, name)
	}
	if err := os.Symlink("d00", filepath.Join(s.root, "d00!link")); err != nil {
		t.Fatal(err)
	}
	var got []string
	cursor, pages := "", 0
	for {
		r := s.do(t.Context(), "POST", "/mcp", message(1, "resources/list", m{"cursor": cursor})).want(200).last()
		var list struct {
			Resources  []struct{ Name string }
			NextCursor string
		}
		if err := json.Unmarshal(r.Result, &list); err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Resources {
			got = append(got, r.Name)
		}
		if pages++; list.NextCursor == "" {
			break
		}
		cursor = list.NextCursor
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) || pages != 3 {
		t.Errorf("%d of %d files in %d pages", len(got), len(want), pages)
	}
	if r := s.do(t.Context(), "POST", "/mcp", message(1, "resources/list", m{"cursor": "?"})).last(); r.Error == nil {
		t.Error("a made-up cursor passed")
	}
}

func FuzzFileURI(f *testing.F) {
	for _, seed := range []string{"a/b.txt", "ä ö", "a%20b", "#?&", "..", "a//b", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := fileName(fileURI(name))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimPrefix(filepath.Clean("/"+name), "/")
		if got != want {
			t.Errorf("%q became %q", name, got)
		}
	})
}

func FuzzSection(f *testing.F) {
	f.Add("a\nb\nc", int64(2), int64(1))
	f.Add("", int64(1), int64(5))
	f.Add("\n\n", int64(3), int64(1))
	f.Fuzz(func(t *testing.T, text string, first, count int64) {
		if first < 1 || count < 1 || first > 1<<40 || count > maxLines || len(text) > maxText {
			return
		}
		s := newSection(first, count)
		if err := s.read(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		from := min(first-1, int64(len(lines)))
		to := min(from+count, int64(len(lines)))
		if want := strings.Join(lines[from:to], ""); s.text.String() != want || s.more != (to < int64(len(lines)) && from < to) {
			t.Errorf("got %q (more: %v), want %q", s.text.String(), s.more, want)
		}
	})
}
