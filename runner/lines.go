package runner

import "bytes"

// maxLine bounds one line of output. The rest of a longer one is dropped.
const maxLine = 64 << 20

// lines cuts a stream of bytes into lines. Only LF ends a line, so that CR and
// the Unicode separators stay as the agent wrote them.
type lines struct {
	rest []byte // the beginning of a line whose end has not come
	emit func(line []byte)
}

// write adds p and emits each line it completes. An emitted line is a fresh
// slice, without its LF.
func (l *lines) write(p []byte) {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.keep(p)
			return
		}
		l.end(p[:i])
		p = p[i+1:]
	}
}

// close emits a last line that had no LF.
func (l *lines) close() {
	if len(l.rest) > 0 {
		l.end(nil)
	}
}

func (l *lines) keep(p []byte) {
	l.rest = append(l.rest, p[:min(len(p), maxLine-len(l.rest))]...)
}

func (l *lines) end(p []byte) {
	if l.rest == nil {
		l.emit(bytes.Clone(p[:min(len(p), maxLine)]))
		return
	}
	l.keep(p)
	line := l.rest
	l.rest = nil
	l.emit(line)
}
