package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress tells the client of one call that it goes on. Without a token of the
// client it is nil, and tells nothing. It is used by the call's goroutine alone,
// so that nothing is told after the result.
type progress struct {
	session *sdk.ServerSession
	token   any
	count   float64
	last    time.Time
}

// pause is the least time between two tellings.
const pause = 500 * time.Millisecond

// progress returns how the client wants to be told, or nil.
func (c *call) progress() *progress {
	token := c.request.Params.GetProgressToken()
	if token == nil || c.request.Session == nil {
		return nil
	}
	return &progress{session: c.request.Session, token: token}
}

// send tells what is going on. The values rise by one: how much is still to be
// done is not known.
func (p *progress) send(ctx context.Context, message string) {
	if p == nil {
		return
	}
	if message == "" {
		message = "the run begins"
	}
	p.count++
	p.last = time.Now()
	_ = p.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
		ProgressToken: p.token, Progress: p.count, Message: message,
	}) // a client that has gone is found out by its call's context
}

// next returns when a change may be told.
func (p *progress) next() <-chan time.Time { return time.After(pause - time.Since(p.last)) }
