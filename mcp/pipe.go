package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// pipe carries the protocol over two streams, one message a line. Unlike the
// library's own it answers a line that is no message instead of hanging up, and
// when its input ends it waits until every request is answered.
type pipe struct {
	out       io.Writer
	broken    func() // called when nothing can be written any more
	lastWords func() // called when the input has ended

	lines  chan []byte
	closed chan struct{}
	close  sync.Once

	mu      sync.Mutex // guards out and pending
	pending int        // requests without an answer
	settled chan struct{}
}

func newPipe(in io.Reader, out io.Writer, broken func()) *pipe {
	p := &pipe{
		out: out, broken: broken, lastWords: func() {},
		lines: make(chan []byte), closed: make(chan struct{}), settled: make(chan struct{}, 1),
	}
	go p.scan(in)
	return p
}

var (
	_ sdk.Transport  = (*pipe)(nil)
	_ sdk.Connection = (*pipe)(nil)
)

// Connect returns p itself, which serves one session.
func (p *pipe) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID is empty: the streams are the session.
func (p *pipe) SessionID() string { return "" }

// Close ends the session. The streams are their owner's.
func (p *pipe) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// scan reads lines until the input ends.
func (p *pipe) scan(in io.Reader) {
	defer close(p.lines)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if errors.Is(err, errLongLine) {
			p.complain(jsonrpc.CodeInvalidRequest, err.Error())
			continue
		}
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))); len(line) > 0 {
			select {
			case p.lines <- line:
			case <-p.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

var errLongLine = errors.New("the message is longer than 16 MiB")

// readLine reads a line of at most maxBody bytes. A longer one is skipped.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if long = long || len(line)+len(piece) > maxBody; !long {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && err == nil:
			return nil, errLongLine
		case long:
			return nil, err
		}
		return line, err
	}
}

// Read returns the next message.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var line []byte
		var more bool
		select {
		case line, more = <-p.lines:
		case <-p.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if !more {
			return nil, p.drain(ctx)
		}
		message, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			p.complain(jsonrpc.CodeParseError, "the line is no message of JSON-RPC 2.0")
			continue
		}
		if r, ok := message.(*jsonrpc.Request); ok && r.IsCall() {
			p.mu.Lock()
			p.pending++
			p.mu.Unlock()
		}
		return message, nil
	}
}

// drain returns io.EOF once every request is answered.
func (p *pipe) drain(ctx context.Context) error {
	p.lastWords()
	for {
		p.mu.Lock()
		pending := p.pending
		p.mu.Unlock()
		if pending == 0 {
			return io.EOF
		}
		select {
		case <-p.settled:
		case <-p.closed:
			return io.EOF
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Write sends a message.
func (p *pipe) Write(_ context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	_, answer := message.(*jsonrpc.Response)
	return p.send(data, answer)
}

// complain answers what is no request.
func (p *pipe) complain(code int64, text string) {
	data, err := marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text},
	})
	if err == nil {
		_ = p.send(data, false)
	}
}

func (p *pipe) send(data []byte, answer bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(data, '\n'))
	if answer {
		p.pending--
		select {
		case p.settled <- struct{}{}:
		default:
		}
	}
	if err != nil {
		p.broken()
	}
	return err
}
