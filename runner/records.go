package runner

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// The bounds on the records that are kept of a run.
const (
	firstRecords = 1000
	lastRecords  = 9000
	recordBytes  = 16 << 20
)

// typeTruncated is the type of the record that stands for a gap.
const typeTruncated = "truncated"

// line is one line an agent told.
type line struct {
	sequence int64
	attempt  int
	data     []byte
}

// recorder keeps the lines of a run: the first and the newest ones. Lines are
// kept as they came; they are read only when somebody asks for the records.
type recorder struct {
	mu      sync.Mutex
	next    int64  // sequence of the next line
	first   []line // full once there are firstRecords, or half the bytes
	closed  bool   // first takes no more
	ring    []line // the newest, oldest at 0 once wrapped by at
	at      int
	bytes   int // in first and ring
	gap     int64
	news    chan struct{} // closed when something was added, if anybody waits
	ended   bool
	backend string
}

// add keeps one line. It does not copy it.
func (r *recorder) add(attempt int, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := line{r.next, attempt, data}
	r.next++
	if !r.closed && len(r.first) < firstRecords && r.bytes+len(data) <= recordBytes/2 {
		r.first = append(r.first, l)
		r.bytes += len(data)
	} else {
		r.closed = true
		r.push(l)
	}
	r.wake()
}

// push adds l to the newest lines and drops the oldest beyond the bounds.
func (r *recorder) push(l line) {
	if len(l.data) > recordBytes/2 {
		l.data = nil // told as part of the gap
		r.gap++
		return
	}
	if len(r.ring)-r.at >= lastRecords {
		r.drop()
	}
	r.ring = append(r.ring, l)
	r.bytes += len(l.data)
	for r.bytes > recordBytes && r.at < len(r.ring)-1 {
		r.drop()
	}
	if r.at > lastRecords {
		r.ring = append([]line(nil), r.ring[r.at:]...)
		r.at = 0
	}
}

func (r *recorder) drop() {
	r.bytes -= len(r.ring[r.at].data)
	r.ring[r.at] = line{}
	r.at++
	r.gap++
}

func (r *recorder) wake() {
	if r.news != nil {
		close(r.news)
		r.news = nil
	}
}

// end says that no more lines come.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.wake()
}

// after returns the records with a sequence above seq, and a channel that is
// closed when there are more; a nil channel when there will be none.
func (r *recorder) after(seq int64) ([]Record, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.collect(seq)
	if r.ended {
		return list, nil
	}
	if r.news == nil {
		r.news = make(chan struct{})
	}
	return list, r.news
}

// collect reads the lines above seq. Callers hold r.mu.
func (r *recorder) collect(seq int64) []Record {
	var list []Record
	for _, l := range r.first {
		if l.sequence > seq {
			list = append(list, r.read(l))
		}
	}
	ring := r.ring[r.at:]
	if mark := int64(len(r.first)); r.gap > 0 && (len(ring) == 0 || ring[0].sequence > seq) && mark+r.gap > seq+1 {
		list = append(list, r.gapRecord(max(seq+1, mark)))
	}
	for _, l := range ring {
		if l.sequence > seq {
			list = append(list, r.read(l))
		}
	}
	return list
}

// gapRecord stands for the lines that were not kept.
func (r *recorder) gapRecord(sequence int64) Record {
	event, _ := json.Marshal(map[string]any{"type": typeTruncated, "count": r.gap})
	return Record{Sequence: sequence, Backend: r.backend, Type: typeTruncated, Event: event}
}

func (r *recorder) read(l line) Record {
	rec := Record{Sequence: l.sequence, Attempt: l.attempt, Backend: r.backend}
	rec.Type, rec.Event = readLine(l.data)
	return rec
}

// readLine tells a line's type and its JSON form: an object stands untouched,
// anything else is raw text.
func readLine(data []byte) (kind string, event json.RawMessage) {
	trimmed := bytes.TrimSpace(data)
	if !utf8.Valid(trimmed) {
		trimmed = bytes.ToValidUTF8(trimmed, []byte("\uFFFD"))
	}
	if len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		var head struct {
			Type any `json:"type"`
		}
		_ = json.Unmarshal(trimmed, &head)
		kind, _ = head.Type.(string)
		if kind == "" {
			kind = "object"
		}
		return kind, trimmed
	}
	text, _ := json.Marshal(strings.ToValidUTF8(string(data), "\uFFFD"))
	return "text", text
}

// forLedger returns all records as the ledger keeps them.
func (r *recorder) forLedger() []ledger.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	records := r.collect(-1)
	kept := make([]ledger.Record, 0, len(records))
	for _, rec := range records {
		data, err := json.Marshal(rec)
		if err != nil {
			continue // cannot be: the event is valid JSON
		}
		kept = append(kept, ledger.Record{Sequence: rec.Sequence, Attempt: rec.Attempt, Data: data})
	}
	return kept
}
