package mcp

import (
	"bytes"
	"net/http"
	"path"
	"strings"
)

// mediaTypes are the types that clients do something with, by the ends of
// names. The list is fixed: what a system's own tables say differs between
// images.
var mediaTypes = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".md": "text/markdown", ".csv": "text/csv",
	".html": "text/html", ".htm": "text/html", ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript",
	".json": "application/json", ".jsonl": "application/x-ndjson", ".xml": "application/xml",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml",
	".go": "text/x-go", ".py": "text/x-python", ".rs": "text/x-rust", ".ts": "text/x-typescript", ".sh": "text/x-shellscript",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".svg": "image/svg+xml", ".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip",
	".tar": "application/x-tar", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".mp4": "video/mp4",
	".webm": "video/webm", ".wasm": "application/wasm",
}

// typeByName tells the type of a file by its name, "" if that says nothing.
func typeByName(name string) string { return mediaTypes[strings.ToLower(path.Ext(name))] }

// mediaType tells the type of a file by its first bytes where they show a
// picture or no text, else by its name. A name may lie about a picture, and
// models refuse what does.
func mediaType(name string, head []byte) string {
	sniffed, _, _ := strings.Cut(http.DetectContentType(head), ";")
	named := typeByName(name)
	if isImage(sniffed) || named == "" || isImage(named) {
		return sniffed
	}
	return named
}

// isImage tells whether models can look at this type.
func isImage(media string) bool {
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// isText tells whether a file that begins with head can be shown as text.
func isText(head []byte) bool {
	return bytes.IndexByte(head, 0) < 0 && strings.HasPrefix(http.DetectContentType(head), "text/")
}
