package telegram

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/psyb0t/aicodebox/internal/boxtest"
)

// However often the bot is stopped, every message has one outcome: its answer,
// or the word that it was cut.
func TestRestartsInBetween(t *testing.T) {
	t.Parallel()
	b := start(t, `allowed_chats: ["*"]`, boxtest.Env{"AICODEBOX_MAX_RUNS": "3"})
	const chats, messages = 4, 6
	written := map[string]string{} // by chat and message id
	for round := range messages {
		for c := range chats {
			text := fmt.Sprintf("outcome %d.%d", c, round)
			w := b.api.Text(int64(1000+c), "SLEEP:0.05\nSAY:"+text)
			written[fmt.Sprintf("%d/%d", 1000+c, w.Message)] = text
		}
		time.Sleep(time.Duration(round*37) * time.Millisecond) // the moment is arbitrary
		b.kill()
		b.run()
	}
	outcomes := func() map[string]int {
		got := map[string]int{}
		for c := range chats {
			for _, m := range b.api.Shown(int64(1000 + c)) {
				switch {
				case strings.HasPrefix(m.Text, "outcome"):
					got[m.Text]++
				case strings.Contains(m.Text, "was restarted"):
					got[written[fmt.Sprintf("%d/%d", 1000+c, m.ReplyTo)]]++
				}
			}
		}
		return got
	}
	b.until("an outcome for all", func() bool { return len(outcomes()) == chats*messages })
	b.drain()
	for text, n := range outcomes() {
		if n != 1 {
			t.Errorf("%q has %d outcomes", text, n)
		}
	}
	for _, call := range b.api.Calls() {
		if call.Status != http.StatusOK && call.Method == "sendMessage" {
			t.Errorf("refused: %v", call.Params)
		}
	}
	for c := range chats {
		for _, m := range b.api.Shown(int64(1000 + c)) {
			if strings.Contains(m.Text, "In the queue") || strings.Contains(m.Text, "Working") {
				t.Logf("left: %q", m.Text) // a receipt whose id was not stored in time
			}
		}
	}
}
