// Command minimal is the smallest box: an adapter of two methods and one
// surface. Its agent is cat, which answers with the prompt itself.
//
//	go build ./examples/minimal
//	AICODEBOX_API_MODE=1 AICODEBOX_AVAILABLE_MODELS=cat AICODEBOX_WORKSPACE=$PWD/ws ./minimal
//	curl --json '{"prompt": "hello"}' localhost:8080/run
package main

import (
	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/api"
)

// Cat answers every prompt with the prompt.
type Cat struct{}

// BuildArgv reads the prompt from standard input. A caller's own words are
// options of cat.
func (Cat) BuildArgv(req aicodebox.Request) ([]string, error) {
	return append([]string{"cat"}, req.ExtraArgs...), nil
}

// ParseOutput takes all of the output as the answer.
func (Cat) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: string(out.Stdout)}, nil
}

func main() {
	aicodebox.Run(Cat{}, aicodebox.Brand("minimal"), api.Surface())
}
