package docs_test

import (
	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/api"
)

// surfaces returns every surface of the house, in the order of the page.
func surfaces() []aicodebox.Option {
	return []aicodebox.Option{api.Surface()}
}
