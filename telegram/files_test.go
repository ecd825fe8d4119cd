package telegram

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/fakebotapi"
)

func TestUploadsOfEveryKind(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	for id, path := range map[string]string{
		"doc": "documents/file_1.pdf", "pic": "photos/file 2.jpg", "small": "photos/s.jpg", "vid": "videos/3.mp4",
		"note": "video_notes/4.mp4", "voice": "voice/5.oga", "audio": "music/6.mp3", "gif": "animations/7.mp4", "noname": "documents/8.bin",
	} {
		b.api.File(id, path, []byte("content of "+id), 0)
	}
	file := func(id, name string) map[string]any { return map[string]any{"file_id": id, "file_name": name} }
	kinds := []struct {
		fields map[string]any
		name   string // as saved; # is the message's number
		id     string
	}{
		{map[string]any{"document": file("doc", "../../evil/.profile")}, "_profile", "doc"},
		{map[string]any{"document": file("doc", "re port.pdf")}, "re port.pdf", "doc"},
		{map[string]any{"document": file("doc", "re port.pdf")}, "re port_1.pdf", "doc"},
		{map[string]any{"document": map[string]any{"file_id": "noname"}}, "document_#.bin", "noname"},
		{map[string]any{"photo": []map[string]any{{"file_id": "small", "width": 9, "height": 9}, {"file_id": "pic", "width": 90, "height": 90}}}, "photo_#.jpg", "pic"},
		{map[string]any{"video": map[string]any{"file_id": "vid", "mime_type": "video/mp4"}}, "video_#.mp4", "vid"},
		{map[string]any{"video_note": map[string]any{"file_id": "note"}}, "video_note_#.mp4", "note"},
		{map[string]any{"voice": map[string]any{"file_id": "voice", "mime_type": "audio/ogg"}}, "voice_#.ogg", "voice"},
		{map[string]any{"audio": file("audio", "song.mp3")}, "song.mp3", "audio"},
		{map[string]any{"animation": file("gif", "cat.mp4"), "document": file("gif", "cat.mp4")}, "cat.mp4", "gif"},
	}
	var saved []string
	for _, k := range kinds {
		w := b.api.Write(ann, k.fields)
		name := strings.ReplaceAll(k.name, "#", jsonOf(w.Message))
		b.answer("Saved in the workspace: " + name)
		data, err := os.ReadFile(b.workspace(name))
		if err != nil || string(data) != "content of "+k.id {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
		saved = append(saved, name)
	}
	b.api.Text(ann, echoPrompt)
	if got := b.echo().Stdin; !strings.Contains(got, "Files that came with this") || !strings.Contains(got, "re port_1.pdf") {
		t.Errorf("the agent was not told: %q", got)
	}
	entries, err := os.ReadDir(b.workspace(""))
	if err != nil || len(entries) != len(saved) {
		t.Errorf("the workspace holds %v, %v", entries, err)
	}
}

func TestUploadWithCaptionIsAPrompt(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.put("in.txt", "old")
	b.api.File("f", "documents/in.txt", []byte("new"), 0)
	b.api.Write(ann, map[string]any{"document": map[string]any{"file_id": "f", "file_name": "in.txt"}, "caption": echoPrompt})
	if got := b.echo().Stdin; !strings.Contains(got, "in_1.txt") {
		t.Errorf("the prompt does not name the file: %q", got)
	}
	if data, _ := os.ReadFile(b.workspace("in.txt")); string(data) != "old" {
		t.Error("a file was replaced")
	}
}

// A picture is shown to the model; what only claims to be one is not.
func TestPictures(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.File("pic", "photos/pic.jpg", []byte("\x89PNG\r\n\x1a\n rest"), 0)
	b.api.File("junk", "photos/junk.png", []byte("junk"), 0)
	photo := []map[string]any{{"file_id": "pic", "width": 9, "height": 9}}
	b.api.Write(ann, map[string]any{"photo": photo, "caption": echoPrompt})
	got := b.echo()
	if i := slices.Index(got.Argv, "--image"); i < 0 || filepath.Dir(got.Argv[i+1]) != b.workspace("") {
		t.Errorf("the picture is not shown: %q", got.Argv)
	}
	b.api.Write(ann, map[string]any{"document": map[string]any{"file_id": "junk", "file_name": "junk.png"}, "caption": echoPrompt})
	if got := b.echo(); slices.Contains(got.Argv, "--image") {
		t.Errorf("junk is shown: %q", got.Argv)
	}
}

func TestUploadFailures(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.File("big", "x", nil, 30<<20)
	b.api.File("f", "documents/f.txt", []byte("f"), 0)
	b.api.Write(ann, map[string]any{"document": map[string]any{"file_id": "big", "file_name": "big.iso"}})
	b.answer("at most 20 MB")
	b.api.Write(ann, map[string]any{"document": map[string]any{"file_id": "unknown", "file_name": "x"}})
	b.answer("did not hand it over")
	b.api.Fail("file", fakebotapi.Failure{Drop: true}, fakebotapi.Failure{Status: 502, Description: "Bad Gateway"})
	b.api.Write(ann, map[string]any{"document": map[string]any{"file_id": "f", "file_name": "f.txt"}})
	b.answer("Saved in the workspace: f.txt")
	b.api.Write(ann, map[string]any{"sticker": map[string]any{"file_id": "s"}})
	b.answer("not with this")
}

func TestAlbumIsOnePrompt(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.api.Text(ann, "SAY:up")
	b.answer("up")
	for _, id := range []string{"a", "b", "c"} {
		b.api.File(id, "photos/"+id+".jpg", []byte(id), 0)
	}
	photo := func(id, caption string) map[string]any {
		return map[string]any{"photo": []map[string]any{{"file_id": id, "width": 1, "height": 1}}, "media_group_id": "g", "caption": caption}
	}
	b.api.Write(ann, photo("a", ""))
	b.api.Write(ann, photo("b", echoPrompt))
	b.api.Write(ann, photo("c", ""))
	b.api.Text(ann, "SAY:after")
	got := b.echo().Stdin
	if strings.Count(got, ".jpg") != 3 {
		t.Errorf("the prompt names not all files: %q", got)
	}
	b.shown("after")
	if n := b.count("sendMessage", "argv"); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func TestSendFiles(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100)
	for name, content := range map[string]string{
		"pic.png": png, "fake.png": "no picture", "clip.mp4": "video", "dir/a b.txt": "text", "empty": "", "my_file.csv": "1,2",
	} {
		b.put(name, content)
	}
	if err := os.Symlink("/etc/passwd", b.workspace("link")); err != nil {
		t.Fatal(err)
	}
	b.put("../secret.txt", "other chat")
	if err := os.Truncate(b.workspace("empty"), 0); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(b.workspace("big.bin"))
	if err != nil || big.Truncate(51<<20) != nil || big.Close() != nil {
		t.Fatal(err)
	}
	b.api.Text(ann, strings.Join([]string{
		"SAY:see `[SEND_FILE: no.txt]`", "SAY:[SEND_FILE: pic.png]", "SAY:[SEND_FILE: fake.png]", "SAY:[SEND_FILE: clip.mp4]",
		"SAY:[SEND_FILE: dir/a b.txt]", "SAY:[SEND_FILE: my_file.csv]", "SAY:[SEND_FILE: " + b.workspace("my_file.csv") + "]",
		"SAY:[SEND_FILE: missing.txt]", "SAY:[SEND_FILE: empty]", "SAY:[SEND_FILE: big.bin]", "SAY:[SEND_FILE: link]",
		"SAY:[SEND_FILE: ../secret.txt]", "SAY:[SEND_FILE: /etc/passwd]", "SAY:[SEND_FILE: dir]",
	}, "\n"))
	if c := b.answer("see"); c.Params["text"] != "see <code>[SEND_FILE: no.txt]</code>" {
		t.Errorf("text %q", c.Params["text"])
	}
	b.api.Sent("sendPhoto", "pic.png")
	b.api.Sent("sendDocument", "fake.png")
	b.api.Sent("sendVideo", "clip.mp4")
	b.api.Sent("sendDocument", "a b.txt")
	b.api.Sent("sendDocument", "my_file.csv")
	b.api.Sent("sendDocument", "my_file.csv")
	lines := strings.Split(b.answer("was not sent").Params["text"], "\n")
	var names []string
	for _, l := range lines {
		name, _, _ := strings.Cut(strings.TrimPrefix(l, "⚠️ "), " was not sent")
		names = append(names, name)
	}
	want := []string{"missing.txt", "empty", "big.bin", "link", "../secret.txt", "/etc/passwd", "dir"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("refused (-want +got):\n%s\n%s", diff, strings.Join(lines, "\n"))
	}
	for _, c := range b.api.Calls() {
		for _, f := range c.Files {
			if strings.Contains(string(f.Content), "root:") || strings.Contains(string(f.Content), "other chat") {
				t.Errorf("%s left the workspace", f.Name)
			}
		}
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	b := start(t, "", nil)
	b.put("out/r.txt", "r")
	b.api.Text(ann, "/fetch out/r.txt")
	b.api.Sent("sendDocument", "r.txt")
	b.api.Text(ann, "/fetch nothing")
	b.answer("there is no such file")
	b.api.Text(ann, "/fetch")
	b.answer("Name a file")
}

func TestSafeName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a.txt": "a.txt", "": "file", ".": "file", "..": "file", "../../etc/passwd": "passwd", `C:\x\y.doc`: "y.doc",
		".bashrc": "_bashrc", "-rf": "_rf", "a\x00b\n.txt": "ab.txt", "x\u202egpj.exe": "xgpj.exe", "a:b?.txt": "a_b_.txt",
		"ok name (1).tar.gz": "ok name (1).tar.gz", "日本.png": "日本.png", "\xff.txt": "file.txt", "/": "file", "a/": "file",
	} {
		if got := safeName(in); got != want {
			t.Errorf("safeName(%q) = %q, want %q", in, got, want)
		}
	}
	if got := safeName(strings.Repeat("ü", 300) + ".txt"); len(got) > maxName || filepath.Ext(got) != ".txt" {
		t.Errorf("a long name became %q", got)
	}
}

func FuzzSafeName(f *testing.F) {
	f.Add("a.txt")
	f.Add("../.x\x00/..")
	f.Add(strings.Repeat(".", 300))
	f.Fuzz(func(t *testing.T, in string) {
		got := safeName(in)
		if got == "" || len(got) > maxName || !filepath.IsLocal(got) || got != filepath.Base(got) ||
			strings.HasPrefix(got, ".") || strings.HasPrefix(got, "-") || strings.ContainsAny(got, "/\\\x00\n") {
			t.Errorf("safeName(%q) = %q", in, got)
		}
	})
}
