// Package telegram is the surface for people: a Telegram bot that runs their
// messages as prompts.
//
//	aicodebox.Run(adapter, telegram.Surface())
//
// It is on with AICODEBOX_TELEGRAM_MODE=1 and needs a bot token. Nobody gets in
// unless the operator's file lists the chat.
//
// The way of a message: the poller stores each update on disk before it
// acknowledges it (inbox), so that none is lost or handled twice over a
// restart. Each place, a chat or a topic of a forum, has a room of its own,
// which takes its messages in order: commands, files that land in the place's
// workspace, prompts that wait for their turn. A prompt becomes a run of the
// runner; while it works the person sees that it does; its answer is rendered
// from Markdown (internal/markup), cut into messages, and sent through the
// outbox, which knows about rate limits and outages.
//
// Notices of other surfaces, cron's above all, go out the same way, also when
// only the token is there and the mode is off. What a notice was about is
// remembered, so that a reply to it carries it into the next prompt.
package telegram

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/runner"
)

// Surface links the Telegram bot. It is served when AICODEBOX_TELEGRAM_MODE is
// on, and sends notices whenever a token is set.
func Surface() aicodebox.Option { return aicodebox.Seat(&surface{pace: usualPace}) }

var (
	_ aicodebox.SettingsSurface = (*surface)(nil)
	_ aicodebox.NotifySurface   = (*surface)(nil)
)

// surface is the bot of one box.
type surface struct {
	box       *aicodebox.Box
	token     string
	url       string
	file      string // with the allowed chats
	fileNamed bool   // by the operator
	overrides string
	pace      pace
	config    *config // as read by Init

	mu  sync.Mutex
	out *outbox
}

// pace is how fast the bot does what it does on its own.
type pace struct {
	poll     time.Duration // length of a long poll
	retry    time.Duration // first pause after a failure; it doubles
	calm     time.Duration // longest pause
	progress time.Duration // between two edits of a progress message
	typing   time.Duration // between two typing actions
	receipt  time.Duration // wait that needs no receipt
	album    time.Duration // how long the rest of an album is waited for
	stranger time.Duration // between two lines for the same stranger
}

var usualPace = pace{
	poll: 50 * time.Second, retry: time.Second, calm: time.Minute, progress: 3 * time.Second,
	typing: 4 * time.Second, receipt: 500 * time.Millisecond, album: time.Second, stranger: time.Hour,
}

// telegramURL is the Bot API of Telegram itself.
const telegramURL = "https://api.telegram.org"

// Mode answers to AICODEBOX_TELEGRAM_MODE.
func (s *surface) Mode() string { return "TELEGRAM" }

// Settings declares the variables of the bot.
func (s *surface) Settings(set aicodebox.Settings) {
	state := set.Box().StateDir()
	s.box = set.Box()
	s.token = strings.TrimSpace(set.Secret("TELEGRAM_MODE_TOKEN", "bot token; required. With the mode off it still lets cron send notices"))
	s.file = set.String("TELEGRAM_MODE_CONFIG", filepath.Join(state, "telegram.yml"), "YAML file with the allowed chats and their settings")
	s.fileNamed = set.IsSet("TELEGRAM_MODE_CONFIG")
	s.overrides = set.String("TELEGRAM_MODE_OVERRIDES", filepath.Join(state, "telegram_overrides.json"), "file for what chats set with commands")
	s.url = strings.TrimRight(set.String("TELEGRAM_MODE_API_URL", telegramURL, "base URL of the Bot API"), "/")
	switch {
	case s.token == "":
		set.Errorf("TELEGRAM_MODE_TOKEN", "must be set to the bot token that @BotFather gave")
	case !tokens.MatchString(s.token):
		set.Errorf("TELEGRAM_MODE_TOKEN", "is no bot token; it accepts digits, a colon, and letters, digits, _ and -")
	}
	if u, err := url.Parse(s.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		set.Errorf("TELEGRAM_MODE_API_URL", "accepts the base URL of a Bot API server, as %s", telegramURL)
	}
}

var tokens = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{3,200}$`)

// Init reads the file with the allowed chats.
func (s *surface) Init(box *aicodebox.Box) error {
	s.box = box
	c, err := s.readConfig()
	if err != nil {
		return err
	}
	s.config = c
	if c.open {
		box.Log().Warn("the Telegram bot is open: allowed_chats lists \"*\", so everybody on Telegram can run prompts here")
	} else if len(c.chats) == 0 {
		box.Log().Warn("the Telegram bot lets nobody in: allowed_chats is empty; write to the bot to learn a chat's id", "file", s.file)
	}
	return nil
}

// readConfig reads the operator's file. One that is missing where nobody named
// it is empty.
func (s *surface) readConfig() (*config, error) {
	data, err := os.ReadFile(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !s.fileNamed:
		data = nil
	case err != nil:
		return nil, fmt.Errorf("read the Telegram configuration: %w", err)
	}
	c, err := parseConfig(data, s.box.Models(), s.box.Efforts())
	if err != nil {
		return nil, fmt.Errorf("Telegram configuration %s: %w", s.file, err) //nolint:staticcheck // a name
	}
	return c, nil
}

// Serve runs the bot until ctx is done, and then until the prompts in hand are
// answered.
func (s *surface) Serve(ctx context.Context) error {
	if err := runner.Open(s.box); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return err
	}
	in, err := openInbox(ctx, s.statePath("inbox", ".jsonl"), s.box.Log())
	if err != nil {
		return err
	}
	defer in.close()
	d, err := newDesk(s, in)
	if err != nil {
		return err
	}
	return d.serve(ctx)
}

// Notify sends n to its chat and remembers what it is about. It returns
// ErrNoNotifier when there is no usable token. It returns once Telegram has
// taken all of n, so that an outage can hold it up for as long as ctx allows.
func (s *surface) Notify(ctx context.Context, n aicodebox.Notice) error {
	if !tokens.MatchString(s.token) || s.box == nil {
		return aicodebox.ErrNoNotifier
	}
	out, err := s.outbox()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.box.Work(), func() { cancel(context.Cause(s.box.Work())) })()
	return out.notify(ctx, n)
}

// outbox returns the one way out, which Serve and Notify share.
func (s *surface) outbox() (*outbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil {
		return s.out, nil
	}
	c, err := newClient(s.url, s.token)
	if err != nil {
		return nil, err
	}
	s.out = newOutbox(c, s.box, s.pace, openNotices(s.statePath("notices", ".json"), s.box.Log()))
	return s.out, nil
}

// statePath returns the path of a state file of this bot: several bots may
// share a state directory.
func (s *surface) statePath(name, ending string) string {
	sum := sha256.Sum256([]byte(s.token))
	return filepath.Join(s.box.StateDir(), "telegram", name+"-"+hex.EncodeToString(sum[:6])+ending)
}
