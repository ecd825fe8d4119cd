package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/psyb0t/aicodebox/internal/workspace"
)

// The limits of the file tools.
const (
	maxEntries = 1000      // of one listing
	maxDepth   = 20        // of one listing
	maxLines   = 2000      // of one reading
	maxText    = 256 << 10 // bytes of one reading
	maxImage   = 5 << 20   // bytes; what models take
	sniffed    = 8 << 10   // bytes by which a text is told from the rest
)

// entry is one line of a listing.
type entry struct {
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// listing is what list_files answers.
type listing struct {
	Path      string  `json:"path"`
	Entries   []entry `json:"entries"`
	Truncated bool    `json:"truncated,omitempty"`
}

func (s *surface) listDirectory(c *call, args *arguments) (output, error) {
	name := trimPath(args.text("path"))
	depth := args.number("depth", 1, 1, maxDepth)
	if err := args.check(); err != nil {
		return output{}, err
	}
	list := listing{Path: name, Entries: []entry{}}
	if name == "" || name == "." {
		list.Path = "/"
	}
	if err := s.walk(c, &list, name, "", depth); err != nil {
		return output{}, err
	}
	return output{data: list}, nil
}

// trimPath takes the slash off the end of a path; "/" is the root of all
// workspaces, as listings call it.
func trimPath(name string) string {
	return strings.TrimRight(name, "/")
}

// walk adds the directory name to list, and depth-1 levels below it. prefix is
// where it stands below the directory that is listed.
func (s *surface) walk(c *call, list *listing, name, prefix string, depth int64) error {
	found, err := s.box.Workspaces().List(name)
	if err != nil {
		if prefix != "" {
			return nil // removed or closed meanwhile; it stays a line of the listing
		}
		return err
	}
	for _, e := range found {
		if len(list.Entries) == maxEntries {
			list.Truncated = true
		}
		if list.Truncated || c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		list.Entries = append(list.Entries, entry{prefix + e.Name, e.Type, e.Size, e.Modified.UTC()})
		if e.Type == workspace.Dir && depth > 1 && !bulky(e.Name) {
			if err := s.walk(c, list, path.Join(name, e.Name), prefix+e.Name+"/", depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// bulky names directories with thousands of files that nobody asked for.
func bulky(name string) bool { return name == ".git" || name == "node_modules" }

// reading is what read_file answers.
type reading struct {
	Path      string  `json:"path"`
	Size      int64   `json:"size"`
	Type      string  `json:"mime_type"`
	Content   *string `json:"content,omitempty"`
	FirstLine int64   `json:"first_line,omitempty"`
	LastLine  int64   `json:"last_line,omitempty"`
	NextLine  int64   `json:"next_line,omitempty"`
	Note      string  `json:"note,omitempty"`
}

func (s *surface) readFile(_ *call, args *arguments) (output, error) {
	name := args.required("path")
	first := args.number("first_line", 1, 1, 1<<40)
	count := args.number("line_count", maxLines, 1, maxLines)
	if err := args.check(); err != nil {
		return output{}, err
	}
	f, info, err := s.box.Workspaces().OpenFile(name)
	if err != nil {
		return output{}, hint(err)
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return output{}, unreadable(name)
	}
	head = head[:n]
	r := reading{Path: name, Size: info.Size(), Type: mediaType(name, head)}
	rest := io.MultiReader(bytes.NewReader(head), f)
	switch {
	case isImage(r.Type):
		return r.image(rest)
	case !isText(head):
		return output{}, fmt.Errorf("%.200q is not text but %s, %d bytes; read it as the resource %s, or have the agent look into it with run_prompt",
			name, r.Type, r.Size, fileURI(name))
	}
	return r.text(rest, first, count)
}

// hint adds to err what to do about it.
func hint(err error) error {
	switch {
	case errors.Is(err, workspace.ErrIsDir):
		return fmt.Errorf("%w; use list_files", err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; list_files shows what there is", err)
	}
	return err
}

func unreadable(name string) error {
	return fmt.Errorf("the file %.200q could not be read to its end", name)
}

// image answers with the picture itself.
func (r reading) image(content io.Reader) (output, error) {
	if r.Size > maxImage {
		return output{}, fmt.Errorf("the image %.200q has %d bytes, more than the %d that can be read; have the agent make a smaller one with run_prompt", r.Path, r.Size, maxImage)
	}
	data, err := io.ReadAll(io.LimitReader(content, maxImage+1))
	if err != nil {
		return output{}, unreadable(r.Path)
	}
	r.Size = int64(len(data))
	return output{data: r, image: &sdk.ImageContent{Data: data, MIMEType: r.Type}}, nil
}

// text answers with count lines from line first on.
func (r reading) text(content io.Reader, first, count int64) (output, error) {
	cut := newSection(first, count)
	if err := cut.read(content); err != nil {
		return output{}, unreadable(r.Path)
	}
	if empty := first == 1 && cut.lines == 0; cut.lines < first && !empty {
		return output{}, fmt.Errorf("the file %.200q has %d lines, and line %d was asked for", r.Path, cut.lines, first)
	}
	text := cut.text.String()
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
		r.Note = "the file is not UTF-8; bytes that cannot be shown are replaced"
	}
	if cut.broken {
		r.Note = fmt.Sprintf("line %d is longer than %d bytes and is cut; the resource %s has it whole", cut.last, maxText, fileURI(r.Path))
	}
	r.Content, r.FirstLine, r.LastLine = &text, first, cut.last
	if cut.more {
		r.NextLine = cut.last + 1
	}
	return output{data: r, text: r.shown(text)}, nil
}

// shown is the text for the model, with a last line about what is missing.
func (r reading) shown(text string) string {
	var about []string
	if r.NextLine != 0 {
		about = append(about, fmt.Sprintf("lines %d to %d are shown; go on with first_line %d", r.FirstLine, r.LastLine, r.NextLine))
	}
	if r.Note != "" {
		about = append(about, r.Note)
	}
	if len(about) == 0 {
		return text
	}
	return strings.TrimSuffix(text, "\n") + "\n[" + strings.Join(about, "; ") + "]"
}

// written is what write_file and delete_file answer.
type written struct {
	Status  string `json:"status"`
	Path    string `json:"path"`
	Size    *int64 `json:"size,omitempty"`
	Created *bool  `json:"created,omitempty"`
}

func (s *surface) writeFile(_ *call, args *arguments) (output, error) {
	name, content := args.required("path"), args.required("content")
	if err := args.check(); err != nil {
		return output{}, err
	}
	size, created, err := s.box.Workspaces().Put(name, strings.NewReader(content), maxBody)
	if err != nil {
		return output{}, err
	}
	return output{data: written{"ok", name, &size, &created}}, nil
}

func (s *surface) deleteFile(_ *call, args *arguments) (output, error) {
	name := args.required("path")
	if err := args.check(); err != nil {
		return output{}, err
	}
	if err := s.box.Workspaces().Remove(name); err != nil {
		return output{}, err
	}
	return output{data: written{Status: "ok", Path: name}}, nil
}

// marshal writes v as JSON without escaping what only web pages mind.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
