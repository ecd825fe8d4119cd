package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/psyb0t/aicodebox/internal/atomicfile"
)

// inbox holds the updates that are not dealt with, on disk: each is stored
// before Telegram is told that it arrived, and marked when it is done. It also
// knows the ids of the newest updates that are done, since Telegram hands out
// again what it was not told of.
//
// The file has one JSON object a line: an update, or what became of one.
type inbox struct {
	path string
	log  *slog.Logger

	lock *os.File // held while the box serves

	mu    sync.Mutex
	file  *os.File // nil when the state directory cannot be written
	size  int64
	open  map[int64]*letter
	order []int64 // ids of open letters, as they came
	seen  []stamp // of the newest letters that are done
	known map[int64]stamp
}

// stamp tells an update from another one that got the same id: after a week
// without updates Telegram begins a new sequence.
type stamp struct {
	ID   int64  `json:"id"`
	Mark uint32 `json:"mark"`
}

// stampOf is made of what a repeated update has in common with the first.
func stampOf(id int64, raw json.RawMessage) stamp {
	u, _ := readUpdate(raw) // of one that cannot be read, the id must do
	what := ""
	switch {
	case u.Message != nil:
		what = fmt.Sprint(u.Message.Chat.ID, u.Message.ID)
	case u.Callback != nil:
		what = u.Callback.ID
	}
	return stamp{id, crc32.ChecksumIEEE([]byte(what))}
}

// letter is an update in the inbox.
type letter struct {
	ID     int64           `json:"id"`
	Update json.RawMessage `json:"update"`
	Note   note            `json:"note,omitzero"`
}

// note is what the bot must remember of an update that is not done.
type note struct {
	Run     string   `json:"run,omitempty"`     // its run has begun
	Receipt int      `json:"receipt,omitempty"` // message that tells its state
	Turns   bool     `json:"turns,omitempty"`   // the receipt becomes the answer
	Fresh   bool     `json:"fresh,omitempty"`   // it begins a new conversation
	Files   []string `json:"files,omitempty"`   // its files, as saved in the workspace
	Sent    int      `json:"sent,omitempty"`    // parts of its answer that were sent
}

// line is one line of the file.
type line struct {
	ID     int64           `json:"id,omitempty"`
	Update json.RawMessage `json:"update,omitempty"`
	Note   *note           `json:"note,omitempty"`
	Done   bool            `json:"done,omitempty"`
	Seen   []stamp         `json:"seen,omitempty"`
}

const (
	maxSeen  = 2000    // ids of done letters that are kept
	maxInbox = 8 << 20 // bytes of the file before it is written anew
)

// openInbox opens the file, waiting for another box that still holds it. A
// state directory that cannot be written is no reason not to serve: the inbox
// is then kept in memory, and a restart can lose messages.
func openInbox(ctx context.Context, path string, log *slog.Logger) (*inbox, error) {
	in := &inbox{path: path, log: log, open: map[int64]*letter{}, known: map[int64]stamp{}}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = in.claim(ctx)
	}
	if ctx.Err() != nil {
		return in, nil
	}
	if err == nil {
		err = in.load()
	}
	if err != nil {
		log.Warn("Telegram messages cannot be stored; a restart may lose some", "error", err)
		in.close()
	}
	return in, nil
}

// lockPause is how often a lock that another box holds is tried.
const lockPause = 200 * time.Millisecond

// claim makes this box the only one that uses the file.
func (in *inbox) claim(ctx context.Context) error {
	f, err := os.OpenFile(in.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	in.lock = f
	told := false
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("lock %s: %w", in.path, err)
		}
		if !told {
			in.log.Warn("another box with this bot token uses this state directory; waiting for its end")
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// load reads the file. Lines that cannot be read, as the last one after a
// crash, are skipped.
func (in *inbox) load() error {
	data, err := os.ReadFile(in.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			in.log.Warn("a stored Telegram message could not be read", "bytes", len(text))
			continue
		}
		in.apply(l)
	}
	return in.compact()
}

// apply brings the memory up to date with a line. Callers hold in.mu, or are
// alone.
func (in *inbox) apply(l line) {
	for _, s := range l.Seen {
		in.remember(s)
	}
	switch {
	case l.Update != nil:
		if in.open[l.ID] == nil {
			in.order = append(in.order, l.ID)
		}
		in.open[l.ID] = &letter{ID: l.ID, Update: l.Update}
		if l.Note != nil {
			in.open[l.ID].Note = *l.Note
		}
	case l.Done && in.open[l.ID] != nil:
		in.remember(stampOf(l.ID, in.open[l.ID].Update))
		delete(in.open, l.ID)
		in.order = slices.DeleteFunc(in.order, func(id int64) bool { return id == l.ID })
	case l.Note != nil && in.open[l.ID] != nil:
		in.open[l.ID].Note = *l.Note
	}
}

func (in *inbox) remember(s stamp) {
	if _, again := in.known[s.ID]; again {
		in.seen = slices.DeleteFunc(in.seen, func(t stamp) bool { return t.ID == s.ID })
	}
	in.known[s.ID] = s
	in.seen = append(in.seen, s)
	for len(in.seen) > maxSeen {
		delete(in.known, in.seen[0].ID)
		in.seen = in.seen[1:]
	}
}

// compact writes the file anew with what is still needed. Callers hold in.mu,
// or are alone.
func (in *inbox) compact() error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if len(in.seen) > 0 {
		if err := enc.Encode(line{Seen: in.seen}); err != nil {
			return err
		}
	}
	for _, id := range in.order {
		l := in.open[id]
		if err := enc.Encode(line{ID: id, Update: l.Update, Note: &l.Note}); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(in.path, b.Bytes(), 0o600); err != nil {
		return err
	}
	f, err := os.OpenFile(in.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if in.file != nil {
		_ = in.file.Close()
	}
	in.file, in.size = f, int64(b.Len())
	return nil
}

// write appends a line and makes it last.
func (in *inbox) write(l line) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.file != nil {
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		n, err := in.file.Write(append(data, '\n'))
		in.size += int64(n)
		if err == nil {
			err = in.file.Sync()
		}
		if err != nil {
			return err
		}
	}
	in.apply(l)
	if in.file != nil && in.size > maxInbox && in.size > 4*in.needed() {
		if err := in.compact(); err != nil {
			in.log.Error("the store of Telegram messages could not be tidied", "error", err)
		}
	}
	return nil
}

// needed is about how many bytes the open letters take.
func (in *inbox) needed() int64 {
	var n int64
	for _, l := range in.open {
		n += int64(len(l.Update))
	}
	return n
}

// put stores an update. It is false for one that was stored before.
func (in *inbox) put(id int64, raw json.RawMessage) (bool, error) {
	in.mu.Lock()
	old, known := in.known[id]
	waiting := in.open[id] != nil
	in.mu.Unlock()
	if waiting || known && old == stampOf(id, raw) {
		return false, nil
	}
	return true, in.write(line{ID: id, Update: raw})
}

// note changes what is to be remembered of an update.
func (in *inbox) note(id int64, change func(*note)) {
	in.mu.Lock()
	l := in.open[id]
	if l == nil {
		in.mu.Unlock()
		return
	}
	n := l.Note
	in.mu.Unlock()
	change(&n)
	if err := in.write(line{ID: id, Note: &n}); err != nil {
		in.log.Error("the state of a Telegram message could not be stored", "update", id, "error", err)
	}
}

// done forgets updates that are dealt with.
func (in *inbox) done(ids ...int64) {
	for _, id := range ids {
		if err := in.write(line{ID: id, Done: true}); err != nil {
			in.log.Error("the end of a Telegram message could not be stored", "update", id, "error", err)
		}
	}
}

// left returns the updates that are not done, as they came.
func (in *inbox) left() []letter {
	in.mu.Lock()
	defer in.mu.Unlock()
	var list []letter
	for _, id := range in.order {
		list = append(list, *in.open[id])
	}
	return list
}

// close gives the file back.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, f := range []*os.File{in.file, in.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
	in.file, in.lock = nil, nil
}
