package aicodebox

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/psyb0t/aicodebox/internal/foreground"
)

// logWriter is where the log goes. It can be changed while it is written to.
type logWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *logWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (l *logWriter) redirect(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w = w
}

// readLog reads how to log, and makes the box's logger.
func (s *start) readLog() {
	t := s.table
	level := t.Choice("LOG_LEVEL", "info", []string{"debug", "info", "warn", "error"}, "least level that is logged")
	format := t.Choice("LOG_FORMAT", "text", []string{"text", "json"}, "how log lines are written to standard error")
	if t.Bool("DEBUG", false, "logs everything, as JSON") {
		level, format = "debug", "json"
	}
	if s.logger != nil {
		s.box.log = s.logger
		return
	}
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // the choices are its words
	o := &slog.HandlerOptions{Level: least}
	s.logTo = &logWriter{w: s.stderr}
	var h slog.Handler = slog.NewTextHandler(s.logTo, o)
	if format == "json" {
		h = slog.NewJSONHandler(s.logTo, o)
	}
	s.box.log = slog.New(h).With("box", s.box.name)
}

// clearTerminal sends the log to a file in the state directory if an agent is
// going to draw on the terminal that it would come out of.
func (s *start) clearTerminal() {
	if s.logTo == nil || s.stderr != os.Stderr || !foreground.Shows(os.Stderr) {
		return
	}
	path := filepath.Join(s.box.stateDir, s.box.name+".log")
	err := os.MkdirAll(s.box.stateDir, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			s.box.log.Info("the agent has the terminal; the log goes on in a file", "file", path)
			s.logTo.redirect(f) // open until the process ends
			return
		}
	}
	s.box.log.Warn("the log stays on the agent's terminal", "error", err)
}
