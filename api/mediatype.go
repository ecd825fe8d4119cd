package api

import (
	"net/http"
	"os"
	"path"
	"strings"
)

// contentType tells the type of a file by its name, and where that says
// nothing, by how it begins. The list is fixed: what a system's own tables say
// differs between images.
func contentType(name string, f *os.File) string {
	if t, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	var head [512]byte
	n, _ := f.ReadAt(head[:], 0)
	if n == 0 {
		return "application/octet-stream"
	}
	return http.DetectContentType(head[:n])
}

const text = "text/plain; charset=utf-8"

var mediaTypes = map[string]string{
	".txt": text, ".log": text, ".go": text, ".py": text, ".rs": text, ".c": text, ".h": text,
	".cc": text, ".cpp": text, ".java": text, ".kt": text, ".rb": text, ".php": text, ".sh": text,
	".ts": text, ".tsx": text, ".jsx": text, ".toml": text, ".ini": text, ".cfg": text, ".conf": text,
	".mod": text, ".sum": text, ".sql": text, ".diff": text, ".patch": text, ".env": text,
	".md":    "text/markdown; charset=utf-8",
	".csv":   "text/csv; charset=utf-8",
	".tsv":   "text/tab-separated-values; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".htm":   "text/html; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".mjs":   "text/javascript; charset=utf-8",
	".json":  "application/json",
	".jsonl": "application/x-ndjson",
	".yaml":  "application/yaml",
	".yml":   "application/yaml",
	".xml":   "application/xml",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".jpg":   "image/jpeg",
	".jpeg":  "image/jpeg",
	".gif":   "image/gif",
	".webp":  "image/webp",
	".avif":  "image/avif",
	".ico":   "image/x-icon",
	".pdf":   "application/pdf",
	".zip":   "application/zip",
	".gz":    "application/gzip",
	".tar":   "application/x-tar",
	".wasm":  "application/wasm",
	".mp3":   "audio/mpeg",
	".ogg":   "audio/ogg",
	".wav":   "audio/wav",
	".mp4":   "video/mp4",
	".webm":  "video/webm",
	".docx":  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx":  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx":  "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
