package telegram

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// images are the absolute paths of those of the job's files that a model can
// be shown.
func (j *job) images() []string {
	dir, err := j.room.desk.box.Workspaces().Resolve(j.settings.workspace)
	if err != nil {
		return nil // the run will say so
	}
	jail, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = jail.Close() }()
	var paths []string
	for _, name := range j.files {
		if isImage(jail, name) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// sniffed is as much of a file as its type is told by.
const sniffed = 512

// isImage tells of the formats that models take, by the bytes and not by what
// a person's device called them.
func isImage(jail *os.Root, name string) bool {
	if info, err := jail.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := jail.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head, err := io.ReadAll(io.LimitReader(f, sniffed))
	if err != nil {
		return false
	}
	switch http.DetectContentType(head) {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}
