package openai

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/workspace"
)

// attachments are the images, sounds and files of one chat, saved for the
// agent in a private directory that is gone after the run: no other chat and no
// caller of the files API gets to see them.
type attachments struct {
	dir     *workspace.Ephemeral // nil until there is something to save
	fetcher fetcher
	images  []string // paths of the images, in order
	saved   int
	remote  int
	bytes   int64
}

// The bounds of one chat.
const (
	maxAttachments     = 500
	maxRemote          = 50
	maxAttachmentBytes = 128 << 20
)

// save writes every attachment of messages to disk and puts in its place, in
// the text, where it is.
func (a *attachments) save(ctx context.Context, messages []message) error {
	ctx, cancel := context.WithTimeout(ctx, 3*fetchTime)
	defer cancel()
	for i := range messages {
		for j := range messages[i].parts {
			p := &messages[i].parts[j]
			if p.kind == partText {
				continue
			}
			if err := a.saveOne(ctx, p); err != nil {
				return err
			}
			p.data = "" // it can be large, and is not needed any more
		}
	}
	return nil
}

// toOpen counts the attachments that the agent has to open by itself.
func (a *attachments) toOpen(agent aicodebox.Description) int {
	if agent.Images {
		return a.saved - len(a.images)
	}
	return a.saved
}

// remove removes what was saved.
func (a *attachments) remove() error {
	if a.dir == nil {
		return nil
	}
	return a.dir.Remove()
}

func (a *attachments) saveOne(ctx context.Context, p *part) error {
	if a.saved++; a.saved > maxAttachments {
		return badField(p.at, "a chat can have at most %d images and files", maxAttachments)
	}
	data, mediaType, err := a.content(ctx, p)
	if err != nil {
		return attachmentFailure(p, err)
	}
	if a.bytes += int64(len(data)); a.bytes > maxAttachmentBytes {
		return badField(p.at, "the images and files of a chat can have %d bytes in all", maxAttachmentBytes)
	}
	name, err := a.write(p.fileName(a.saved, data, mediaType), data)
	if err != nil {
		return err
	}
	if p.kind == partImage {
		a.images = append(a.images, name)
	}
	p.text = "[" + attachmentWords[p.kind] + ": " + name + "]"
	return nil
}

// attachmentWords is how a prompt calls attachments.
var attachmentWords = map[partKind]string{partImage: "image", partFile: "file", partAudio: "audio"}

// attachmentFailure is a 400 that tells which attachment cannot be had.
func attachmentFailure(p *part, err error) error {
	f := badField(p.at, "%s", err.Error())
	if p.kind == partImage {
		f.code = "invalid_image_url"
	}
	return f
}

// write writes one file and returns its absolute path.
func (a *attachments) write(name string, data []byte) (string, error) {
	if a.dir == nil {
		dir, err := workspace.NewEphemeral(workspace.EphemeralBase())
		if err != nil {
			return "", fmt.Errorf("make a directory for attachments: %w", err)
		}
		a.dir = dir
	}
	full := filepath.Join(a.dir.Dir(), name)
	if err := os.WriteFile(full, data, 0o600); err != nil {
		return "", fmt.Errorf("save an attachment: %w", err)
	}
	return full, nil
}

// content gets the bytes of an attachment.
func (a *attachments) content(ctx context.Context, p *part) (data []byte, mediaType string, err error) {
	scheme, _, _ := strings.Cut(p.data, ":")
	switch {
	case strings.EqualFold(scheme, "data"):
		return decodeDataURL(p.data)
	case p.kind != partImage:
		data, err = decodeBase64(p.data)
		return data, "", err
	}
	if a.remote++; a.remote > maxRemote {
		return nil, "", fmt.Errorf("a chat can have at most %d images to fetch; send the others as data URLs", maxRemote)
	}
	return a.fetcher.fetch(ctx, p.data)
}

// decodeDataURL reads a data URL (RFC 2397).
func decodeDataURL(s string) (data []byte, mediaType string, err error) {
	head, body, ok := strings.Cut(s[len("data:"):], ",")
	if !ok {
		return nil, "", errors.New("the data URL has no comma before its data")
	}
	mediaType, encoded := head, false
	if cut, ok := cutSuffixFold(head, ";base64"); ok {
		mediaType, encoded = cut, true
	}
	if encoded {
		data, err = decodeBase64(body)
	} else {
		var text string
		text, err = url.PathUnescape(body)
		data = []byte(text)
	}
	if err != nil {
		return nil, "", errors.New("the data URL's data cannot be decoded: " + err.Error())
	}
	if len(data) == 0 {
		return nil, "", errors.New("the data URL is empty")
	}
	return data, mediaType, nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if cut := len(s) - len(suffix); cut >= 0 && strings.EqualFold(s[cut:], suffix) {
		return s[:cut], true
	}
	return s, false
}

// decodeBase64 reads base64 of either alphabet, with or without padding and
// line ends.
func decodeBase64(s string) ([]byte, error) {
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n', '=':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, s)
	data, err := base64.RawStdEncoding.DecodeString(s)
	switch {
	case err != nil:
		return nil, errors.New("it is not valid base64")
	case len(data) == 0:
		return nil, errors.New("it is empty")
	}
	return data, nil
}

// fileName is a safe name for an attachment: image-1.png, file-2-report.pdf.
func (p *part) fileName(n int, data []byte, mediaType string) string {
	name := fmt.Sprintf("%s-%d", attachmentWords[p.kind], n)
	switch p.kind {
	case partImage:
		return name + imageExtension(data, mediaType)
	case partAudio:
		if p.name == "" {
			return name + ".wav"
		}
		return name + "." + strings.ToLower(p.name)
	}
	if own := safeName(p.name); own != "" {
		return name + "-" + own
	}
	return name + fileExtension(data, mediaType)
}

// imageExtension prefers what the bytes are to what a client says they are.
func imageExtension(data []byte, mediaType string) string {
	for _, t := range []string{http.DetectContentType(data), mediaType} {
		base, _, _ := mime.ParseMediaType(t)
		if ext, ok := extensions[base]; ok && strings.HasPrefix(base, "image/") {
			return ext
		}
	}
	return ".img"
}

func fileExtension(data []byte, mediaType string) string {
	for _, t := range []string{mediaType, http.DetectContentType(data)} {
		base, _, _ := mime.ParseMediaType(t)
		if ext, ok := extensions[base]; ok {
			return ext
		}
	}
	return ".bin"
}

// extensions are the endings of the types that agents meet; the machine's own
// list differs from image to image.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"image/bmp": ".bmp", "image/svg+xml": ".svg", "image/avif": ".avif", "image/heic": ".heic",
	"image/tiff": ".tiff", "image/x-icon": ".ico", "application/pdf": ".pdf", "text/plain": ".txt",
	"text/csv": ".csv", "text/html": ".html", "text/markdown": ".md", "application/json": ".json",
	"application/zip": ".zip", "audio/wav": ".wav", "audio/mpeg": ".mp3",
}

// maxName bounds the part of a file's name that is the client's.
const maxName = 100

// safeName makes a client's file name one that no shell, directory or prompt
// takes for something else.
func safeName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && !strings.ContainsRune(letters+"._-", r) || r == 0xFFFD || r >= 0x80 && !isWordRune(r) {
			return '_'
		}
		return r
	}, name)
	if len(name) > maxName {
		ext := path.Ext(name)
		if len(ext) > 16 {
			ext = ""
		}
		name = strings.ToValidUTF8(name[:maxName-len(ext)], "") + ext
	}
	return strings.Trim(name, ".")
}

// isWordRune tells of a letter or digit of any script.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
