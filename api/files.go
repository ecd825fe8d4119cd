package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/psyb0t/aicodebox/internal/httpd"
	"github.com/psyb0t/aicodebox/internal/workspace"
)

// listing is the answer to GET of a directory.
type listing struct {
	_       struct{} `additionalProperties:"true"`
	Path    string   `json:"path" doc:"The directory, relative to the root of all workspaces; / is the root." example:"project-a"`
	Entries []entry  `json:"entries" nullable:"false" doc:"What is in it, by name."`
}

// entry is one line of a listing.
type entry struct {
	_        struct{}  `additionalProperties:"true"`
	Name     string    `json:"name" doc:"Its name." example:"README.md"`
	Type     string    `json:"type" enum:"file,dir,symlink,other" doc:"A link is told as such and not followed; other is a pipe, a socket or a device." example:"file"`
	Size     int64     `json:"size" doc:"Bytes of a file; 0 for anything else." example:"1204"`
	Modified time.Time `json:"modified" doc:"When it was last changed."`
}

// fileDone is the answer to PUT and DELETE of a file.
type fileDone struct {
	Status string `json:"status" enum:"ok" doc:"Always ok." example:"ok"`
	Path   string `json:"path" doc:"The file, as it was named." example:"project-a/README.md"`
	Size   *int64 `json:"size,omitempty" doc:"Bytes written; of PUT only." example:"1204"`
}

// filePath is what is named below /files/. It is decoded once; whether it may
// be used is the workspace's matter.
func filePath(r *http.Request) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/files"), "/")
}

// getFiles lists the root of all workspaces.
func (s *surface) getFiles(w http.ResponseWriter, r *http.Request) { s.list(w, r, "") }

// getFile answers with a file's bytes, or a directory's listing.
func (s *surface) getFile(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimRight(filePath(r), "/")
	if strings.HasPrefix(filePath(r), "/") {
		name = filePath(r) // refused as absolute
	}
	f, info, err := s.box.Workspaces().OpenFile(name)
	switch {
	case errors.Is(err, workspace.ErrIsDir):
		s.list(w, r, name)
	case err != nil:
		s.refuse(w, r, err)
	default:
		defer f.Close()
		serveFile(w, r, f, info)
	}
}

func (s *surface) list(w http.ResponseWriter, r *http.Request, name string) {
	found, err := s.box.Workspaces().List(name)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	j := newJSONWriter(w)
	j.open('{')
	if name == "" {
		name = "/"
	}
	j.text("path", name)
	j.name("entries")
	j.open('[')
	for _, e := range found {
		j.next()
		j.element(entry{Name: e.Name, Type: e.Type, Size: e.Size, Modified: e.Modified.UTC()})
	}
	j.closing(']')
	j.closing('}')
	j.put('\n')
	if j.end() != nil {
		panic(http.ErrAbortHandler)
	}
}

// serveFile sends f as the client asks for it: whole, a range of it, only its
// header, or nothing when the client has it (RFC 9110, sections 13 and 14).
// What an agent wrote must not run as a page of the box's own origin.
func serveFile(w http.ResponseWriter, r *http.Request, f *os.File, info fs.FileInfo) {
	h := w.Header()
	h.Set("ETag", etag(info))
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Type", contentType(info.Name(), f))
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// etag identifies a content by what changes with it. A file that is replaced
// has another inode, one that is rewritten another time.
func etag(info fs.FileInfo) string {
	var inode uint64
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = stat.Ino
	}
	return fmt.Sprintf(`"%x-%x-%x"`, inode, info.ModTime().UnixNano(), info.Size())
}

// putFile takes a file. Until it is there as a whole, the old one stays.
func (s *surface) putFile(w http.ResponseWriter, r *http.Request) {
	name := filePath(r)
	if name == "" {
		s.refuse(w, r, errors.Join(&badBody{status: http.StatusBadRequest, detail: "name the file to write: PUT /files/{path}"}, errUnread))
		return
	}
	if r.Header.Get("Content-Range") != "" { // RFC 9110, section 14.5
		s.refuse(w, r, errors.Join(&badBody{status: http.StatusBadRequest, detail: "a part of a file cannot be written; send the whole file without Content-Range"}, errUnread))
		return
	}
	if r.ContentLength > s.upload {
		s.refuse(w, r, &httpd.TooLargeError{Limit: s.upload})
		return
	}
	size, created, err := s.box.Workspaces().Put(name, r.Body, s.upload)
	if err != nil {
		s.refuse(w, r, putError(err))
		return
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	writeJSON(w, status, fileDone{Status: "ok", Path: name, Size: &size})
}

// putError tells what the client did from what the disk did.
func putError(err error) error {
	var path *workspace.PathError
	switch {
	case errors.Is(err, workspace.ErrTooLarge), errors.Is(err, httpd.ErrStalled):
		return err
	case errors.As(err, &path):
		return errors.Join(err, errUnread)
	}
	return errors.Join(&badBody{status: http.StatusBadRequest, detail: "the upload broke off; nothing was changed"}, errUnread)
}

// deleteFile removes a file, or a link itself.
func (s *surface) deleteFile(w http.ResponseWriter, r *http.Request) {
	name := filePath(r)
	if err := s.box.Workspaces().Remove(name); err != nil {
		s.refuse(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, fileDone{Status: "ok", Path: name})
}

// isFull tells of a disk or a quota that is used up.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
