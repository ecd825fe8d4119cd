package aicodebox_test

import (
	"testing"

	"github.com/psyb0t/aicodebox"
)

type echo struct{}

func (echo) BuildArgv(aicodebox.Request) ([]string, error) { return []string{"cat"}, nil }

func (echo) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: string(out.Stdout)}, nil
}

func lookup(values map[string]string) aicodebox.Option {
	return aicodebox.Lookup(func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	box, err := aicodebox.New(echo{}, aicodebox.Brand("pibox"), lookup(map[string]string{
		"PIBOX_WORKSPACE": t.TempDir(), "PIBOX_STATE_DIR": t.TempDir(), "PIBOX_AVAILABLE_MODELS": "a, b,,a",
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(box.Name(), box.Models(), box.Agent(), box.StateDir(), len(box.AgentEnv()))
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
}
