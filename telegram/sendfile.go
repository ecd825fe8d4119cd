package telegram

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"github.com/psyb0t/aicodebox/internal/workspace"
)

// The limits of what a bot can send, in bytes.
const (
	maxPhoto  = 10 << 20
	maxUpload = 50 << 20
	maxFiles  = 20 // of one answer
)

// sendFiles sends files of the workspace, and says for people which it could
// not.
func (j *job) sendFiles(ctx context.Context, names []string) (troubles []string) {
	for i, name := range names {
		shown := clip(strings.Join(strings.Fields(name), " "), maxName)
		if i == maxFiles {
			return append(troubles, "⚠️ Too many files for one answer; "+shown+" and what follows were not sent.")
		}
		if err := j.sendNamed(ctx, name); err != nil {
			if ctx.Err() != nil {
				return troubles
			}
			j.room.desk.log.Warn("a file could not be sent", "error", err)
			troubles = append(troubles, "⚠️ "+shown+" was not sent: "+whyNotSent(err))
		}
	}
	return troubles
}

var (
	errEmpty  = errors.New("the file is empty")
	errTooBig = errors.New("it is larger than the 50 MB that a bot can send")
)

// whyNotSent says for people why a file was not sent.
func whyNotSent(err error) string {
	var p *workspace.PathError
	var e *apiError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file."
	case errors.As(err, &p):
		return p.Reason + "."
	case errors.Is(err, errEmpty), errors.Is(err, errTooBig):
		return err.Error() + "."
	case errors.As(err, &e):
		return "Telegram did not take it."
	}
	return "it could not be read."
}

// sendNamed sends one file of the workspace.
func (j *job) sendNamed(ctx context.Context, name string) error {
	in, err := j.inWorkspace(name)
	if err != nil {
		return err
	}
	root := j.room.desk.box.Workspaces()
	f, info, err := root.OpenFile(in)
	if err != nil {
		return err
	}
	_ = f.Close()
	switch {
	case info.Size() == 0:
		return errEmpty
	case info.Size() > maxUpload:
		return errTooBig
	}
	open := func() (io.ReadCloser, error) {
		f, _, err := root.OpenFile(in)
		return f, err
	}
	method := methodFor(name, info.Size())
	err = j.transmit(ctx, method, path.Base(in), open)
	if e := (*apiError)(nil); method != "sendDocument" && errors.As(err, &e) && e.refused() {
		return j.transmit(ctx, "sendDocument", path.Base(in), open) // as it is, if not as a picture
	}
	return err
}

// inWorkspace returns a file's path below the root of all workspaces. An
// absolute one is taken if it is in the job's workspace: agents like to write
// them.
func (j *job) inWorkspace(name string) (string, error) {
	space := j.settings.workspace
	if filepath.IsAbs(name) {
		dir, err := j.room.desk.box.Workspaces().Resolve(space)
		if err != nil {
			return "", err
		}
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
	}
	if filepath.IsAbs(name) {
		return "", &workspace.PathError{Path: name, Reason: "it is outside the workspace", Kind: workspace.ErrEscapes}
	}
	return strings.TrimSuffix(space, "/") + "/" + name, nil
}

// methodFor is how Telegram shows a file best.
func methodFor(name string, size int64) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png", ".webp":
		if size <= maxPhoto {
			return "sendPhoto"
		}
	case ".mp4", ".m4v", ".mov", ".webm":
		return "sendVideo"
	}
	return "sendDocument"
}

// sendContent sends a text as a file.
func (j *job) sendContent(ctx context.Context, name, content string) error {
	return j.transmit(ctx, "sendDocument", name, func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	})
}

// transmit uploads a file, which is opened anew for every try.
func (j *job) transmit(ctx context.Context, method, name string, open func() (io.ReadCloser, error)) error {
	out, p := j.room.desk.out, j.room.place
	action := map[string]models.ChatAction{
		"sendPhoto": models.ChatActionUploadPhoto, "sendVideo": models.ChatActionUploadVideo,
	}[method]
	if action == "" {
		action = models.ChatActionUploadDocument
	}
	out.typing(ctx, p, action)
	var unreadable error
	err := out.send(ctx, p.chat, method, fileTime, func(ctx context.Context, chat int64) error {
		content, err := open()
		if err != nil {
			unreadable = err
			return nil
		}
		defer content.Close()
		file := &models.InputFileUpload{Filename: safeName(name), Data: &outgoing{content}}
		switch method {
		case "sendPhoto":
			_, err = out.client.SendPhoto(ctx, &bot.SendPhotoParams{ChatID: chat, MessageThreadID: p.thread(), Photo: file})
		case "sendVideo":
			_, err = out.client.SendVideo(ctx, &bot.SendVideoParams{ChatID: chat, MessageThreadID: p.thread(), Video: file, SupportsStreaming: true})
		default:
			_, err = out.client.SendDocument(ctx, &bot.SendDocumentParams{ChatID: chat, MessageThreadID: p.thread(), Document: file})
		}
		return err
	})
	return errors.Join(unreadable, err)
}

// outgoing is a file on its way out, as the library needs it: a pointer.
type outgoing struct{ content io.Reader }

func (o *outgoing) Read(p []byte) (int, error) { return o.content.Read(p) }
