// Command pibox is a box for pi, the coding agent: one binary that stands in
// for pi on the command line and answers over every surface it links.
//
//	go build ./examples/pibox
//	PIBOX_API_MODE=1 PIBOX_AVAILABLE_MODELS=anthropic/claude-sonnet-4-5 PIBOX_WORKSPACE=$PWD/ws ./pibox
//	curl --json '{"prompt": "What is in this directory?"}' localhost:8080/run
package main

import (
	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/api"
	"github.com/psyb0t/aicodebox/cron"
	"github.com/psyb0t/aicodebox/mcp"
	"github.com/psyb0t/aicodebox/openai"
	"github.com/psyb0t/aicodebox/telegram"
)

func main() {
	aicodebox.Run(PiAdapter{},
		aicodebox.Brand("pibox"),
		api.Surface(), openai.Surface(), mcp.Surface(), telegram.Surface(), cron.Surface(),
	)
}
