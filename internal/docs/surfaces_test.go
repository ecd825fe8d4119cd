package docs_test

import (
	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/api"
	"github.com/psyb0t/aicodebox/cron"
	"github.com/psyb0t/aicodebox/mcp"
	"github.com/psyb0t/aicodebox/openai"
	"github.com/psyb0t/aicodebox/telegram"
)

// surfaces returns every surface of the house, in the order of the page.
func surfaces() []aicodebox.Option {
	return []aicodebox.Option{api.Surface(), openai.Surface(), mcp.Surface(), telegram.Surface(), cron.Surface()}
}
