package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// upload is a file that a person sent.
type upload struct {
	id   string
	name string // as the person's device called it, or made up
}

// files are the files of a message.
func (m *message) files() []upload {
	number := strconv.Itoa(m.ID)
	if n := len(m.Photo); n > 0 {
		best := m.Photo[0]
		for _, p := range m.Photo {
			if p.Width*p.Height >= best.Width*best.Height {
				best = p
			}
		}
		return []upload{{best.ID, "photo_" + number + ".jpg"}}
	}
	// An animation comes as a document too.
	for _, k := range []struct {
		a            *attachment
		kind, ending string
	}{
		{m.Animation, "animation", ".mp4"},
		{m.Document, "document", ""},
		{m.Video, "video", ".mp4"},
		{m.VideoNote, "video_note", ".mp4"},
		{m.Voice, "voice", ".ogg"},
		{m.Audio, "audio", ".mp3"},
	} {
		if k.a == nil {
			continue
		}
		if k.a.Name != "" {
			return []upload{{k.a.ID, k.a.Name}}
		}
		return []upload{{k.a.ID, k.kind + "_" + number + ending(k.a.Type, k.ending)}}
	}
	return nil
}

// ending is that of a file name for a media type.
func ending(mediaType, def string) string {
	known := map[string]string{
		"video/mp4": ".mp4", "video/webm": ".webm", "video/quicktime": ".mov", "audio/mpeg": ".mp3", "audio/ogg": ".ogg",
		"audio/mp4": ".m4a", "audio/x-m4a": ".m4a", "image/gif": ".gif", "image/png": ".png", "image/jpeg": ".jpg",
		"application/pdf": ".pdf", "text/plain": ".txt",
	}
	if e, ok := known[mediaType]; ok {
		return e
	}
	return def
}

// save puts the files of a message into the workspace. It returns their names
// there and, for people, what went wrong. ok is false when the bot stops before
// all is saved.
func (r *room) save(it *item) (names, troubles []string, ok bool) {
	if len(it.note.Files) > 0 {
		return it.note.Files, nil, true // before a restart
	}
	for _, u := range it.message.files() {
		name, err := r.fetchUpload(u)
		if r.desk.taking.Err() != nil {
			return nil, nil, false
		}
		if err != nil {
			r.desk.log.Warn("a file could not be taken", "error", err)
			troubles = append(troubles, "⚠️ "+safeName(u.name)+" could not be taken: "+reason(err))
			continue
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		r.desk.in.note(it.id, func(n *note) { n.Files = names })
		it.note.Files = names
	}
	return names, troubles, true
}

// reason says for people why a file did not arrive.
func reason(err error) string {
	var e *apiError
	switch {
	case says(err, "file is too big"):
		return "Telegram gives bots files of at most 20 MB."
	case errors.As(err, &e):
		return "Telegram did not hand it over."
	}
	return "it could not be stored."
}

// downloadTries is how often a download is begun anew.
const downloadTries = 4

// fetchUpload downloads u into the workspace and returns its name there.
func (r *room) fetchUpload(u upload) (string, error) {
	pause := r.desk.pace.retry
	for try := 1; ; try++ {
		name, err := r.tryUpload(u)
		var e *apiError
		if err == nil || try == downloadTries || !errors.As(err, &e) || !e.passing() {
			return name, err
		}
		if err := rest(r.desk.taking, max(pause, e.retry)); err != nil {
			return "", err
		}
		pause = min(2*pause, r.desk.pace.calm)
	}
}

func (r *room) tryUpload(u upload) (string, error) {
	ctx, cancel := context.WithTimeout(r.desk.taking, fileTime)
	defer cancel()
	c := r.desk.out.client
	var f *models.File
	f, err := c.GetFile(ctx, &bot.GetFileParams{FileID: u.id})
	if err != nil {
		return "", c.wrong("getFile", err)
	}
	body, err := c.download(ctx, f.FilePath)
	if err != nil {
		return "", err
	}
	defer body.Close()
	name := u.name
	if path.Ext(name) == "" {
		name += path.Ext(f.FilePath)
	}
	content := &incoming{client: c, body: body}
	saved, err := r.store(safeName(name), content)
	if content.err != nil {
		return "", content.err
	}
	return saved, err
}

// incoming is a download that keeps its own errors apart from the disk's.
type incoming struct {
	client *client
	body   io.Reader
	err    error
}

func (i *incoming) Read(p []byte) (int, error) {
	n, err := i.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		i.err = i.client.wrong("download", err)
	}
	return n, err
}

// maxName is the longest file name that is made, in bytes.
const maxName = 120

// safeName makes a name one that can do no harm in a directory: no path, no
// hidden file, no option of a command, nothing invisible.
func safeName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		case unicode.IsSpace(r):
			return ' '
		case strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		}
		return r
	}, name)
	name = strings.TrimRight(strings.Trim(name, " "), " .")
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") {
		name = "_" + name[1:]
	}
	ext := path.Ext(name)
	if len(ext) > maxName/4 {
		ext = ""
	}
	stem := strings.TrimRight(strings.TrimSuffix(name, ext), " .")
	for len(stem)+len(ext) > maxName {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-n]
	}
	if strings.Trim(stem, "_") == "" {
		stem = "file"
	}
	return stem + ext
}

// maxSuffix is how many files of one name a workspace may hold.
const maxSuffix = 1000

// numbered is name for the nth try to find a free one.
func numbered(name string, n int) string {
	if n == 0 {
		return name
	}
	ext := path.Ext(name)
	return fmt.Sprintf("%s_%d%s", strings.TrimSuffix(name, ext), n, ext)
}
