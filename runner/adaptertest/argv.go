package adaptertest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/psyb0t/aicodebox"
)

// maxWord is the longest argv string of Linux without its closing NUL.
const maxWord = 128<<10 - 1

// hostile are prompts that command lines are known to trip over.
var hostile = []string{
	"--help me write a parser",
	"-p",
	"--",
	"-",
	"--version=please tell",
	"@README.md what does this say?",
	"@/etc/passwd",
	"/help",
	"!ls",
	"help",
	"$(touch pwned) `id` ; exit 1 | cat & \\",
	"'single' and \"double\" quotes",
	"first line\nsecond line\r\n\n--third",
	" leading and trailing space \n",
	"Grüße, 世界 👩‍👩‍👧‍👦 e\u0301 \u2028 שלום",
	"not UTF-8: \xff\xfe\xc3(",
	"%s %d %n {} {{.}} <tag> &amp;",
	strings.Repeat("long ", 200<<10), // 1 MiB
}

// argv asks for a command line; ok is false when the adapter refuses the
// request, which it may.
func (k *kit) argv(req aicodebox.Request) (argv []string, ok bool, problems []string) {
	problems = guard("Validate or BuildArgv", func() {
		if aicodebox.Validate(k.adapter, req) != nil {
			return
		}
		var err error
		argv, err = k.adapter.BuildArgv(req)
		ok = err == nil
	})
	if ok && (len(argv) == 0 || argv[0] == "") {
		return nil, false, []string{fmt.Sprintf("BuildArgv gives no program for the prompt %s", short(req.Prompt))}
	}
	return argv, ok, problems
}

// checkPrompts builds a command line for every hostile prompt.
func (k *kit) checkPrompts() (problems []string) {
	if _, ok, found := k.argv(k.request()); !ok {
		return append(found, "an ordinary request is refused; see the option Request")
	}
	for _, prompt := range hostile {
		req := k.request()
		req.Prompt = prompt
		argv, ok, found := k.argv(req)
		problems = append(problems, found...)
		if !ok {
			continue
		}
		problems = append(problems, wordsOf(argv, short(prompt))...)
		problems = append(problems, k.once(argv, prompt)...)
		if again, ok, _ := k.argv(req); !ok || !slices.Equal(argv, again) {
			problems = append(problems, fmt.Sprintf("BuildArgv gives another command line the second time for the prompt %s", short(prompt)))
		}
	}
	return problems
}

// wordsOf finds words that cannot be passed to a program.
func wordsOf(argv []string, about string) (problems []string) {
	for i, word := range argv {
		if strings.IndexByte(word, 0) >= 0 {
			problems = append(problems, fmt.Sprintf("argv[%d] for %s holds a NUL character", i, about))
		}
		if len(word) > maxWord {
			problems = append(problems, fmt.Sprintf("argv[%d] for %s has %d bytes, and an argv string can have %d: pass it on standard input or in a file of Request.Scratch", i, about, len(word), maxWord))
		}
	}
	return problems
}

// once finds a prompt that is passed more than once. A prompt that is a word of
// the command line anyway is the business of checkCollisions.
func (k *kit) once(argv []string, prompt string) (problems []string) {
	other := k.request()
	plain, _, _ := k.argv(other)
	if slices.Contains(plain, prompt) {
		return nil
	}
	n := 0
	for i, word := range argv[1:] {
		switch {
		case word == prompt:
			n++
			if strings.HasPrefix(prompt, "-") && !strings.HasPrefix(argv[i], "-") && !slices.Contains(argv[:i+1], "--") {
				problems = append(problems, fmt.Sprintf("the prompt %s in argv would be taken for an option: put -- before it, or use standard input", short(prompt)))
			}
		case len(prompt) > 8 && strings.Contains(word, prompt):
			problems = append(problems, fmt.Sprintf("argv[%d] holds the prompt %s among other text, so it is passed on standard input as well: make it a word of its own", i+1, short(prompt)))
		}
	}
	if n > 1 {
		problems = append(problems, fmt.Sprintf("the prompt %s stands in argv %d times", short(prompt), n))
	}
	return problems
}

// checkCollisions asks with a prompt that equals a word of the command line:
// the box would take it for passed and leave standard input empty.
func (k *kit) checkCollisions() (problems []string) {
	base := k.full()
	plain, ok, found := k.argv(base)
	if !ok {
		return found
	}
	for _, word := range slices.Compact(slices.Sorted(slices.Values(plain[1:]))) {
		req := k.full()
		req.Prompt = word
		argv, ok, found := k.argv(req)
		problems = append(problems, found...)
		if ok && count(argv[1:], word) == count(plain[1:], word) {
			problems = append(problems, fmt.Sprintf("the prompt %s is lost: it equals a word of the command line, so it must be passed in argv", short(word)))
		}
	}
	return problems
}

func count(words []string, word string) int {
	n := 0
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
}

// full is a request with everything set that can be combined.
func (k *kit) full() aicodebox.Request {
	req := k.request()
	d := aicodebox.Describe(k.adapter)
	if req.Model == "" {
		req.Model = "provider/some-model"
		if len(d.Models) > 0 {
			req.Model = d.Models[0]
		}
	}
	if len(d.Efforts) > 0 {
		req.Effort = d.Efforts[len(d.Efforts)-1]
	}
	req.System, req.AppendSystem = "Be brief.", "Be kind."
	return req
}

// options are requests that use each field of a request.
func (k *kit) options() map[string]aicodebox.Request {
	all := map[string]aicodebox.Request{"everything": k.full()}
	for name, change := range map[string]func(*aicodebox.Request){
		"Fresh":           func(r *aicodebox.Request) { r.Fresh = true },
		"Resume":          func(r *aicodebox.Request) { r.Resume = "0199c0de-0000-4000-8000-000000000000" },
		"Tools":           func(r *aicodebox.Request) { r.Tools = []string{"read", "bash"} },
		"no tools listed": func(r *aicodebox.Request) { r.Tools = []string{} },
		"NoTools":         func(r *aicodebox.Request) { r.NoTools = true },
		"Schema":          func(r *aicodebox.Request) { r.Schema = json.RawMessage(`{"type":"object"}`) },
		"ExtraArgs":       func(r *aicodebox.Request) { r.ExtraArgs = []string{"--kit-option", "kit value"} },
		"Format json":     func(r *aicodebox.Request) { r.Format = aicodebox.FormatJSON },
		"Format verbose":  func(r *aicodebox.Request) { r.Format = aicodebox.FormatVerbose },
		"a long System":   func(r *aicodebox.Request) { r.System = strings.Repeat("rule ", 30_000) },
		"a long AppendSystem": func(r *aicodebox.Request) {
			r.AppendSystem = strings.Repeat("rule ", 30_000)
		},
	} {
		req := k.request()
		change(&req)
		all[name] = req
	}
	return all
}

// checkOptions builds a command line for every kind of request.
func (k *kit) checkOptions() (problems []string) {
	for name, req := range k.options() {
		argv, ok, found := k.argv(req)
		problems = append(problems, found...)
		if !ok {
			continue
		}
		problems = append(problems, wordsOf(argv, "a request with "+name)...)
		for _, word := range req.ExtraArgs {
			if !slices.Contains(argv, word) {
				problems = append(problems, fmt.Sprintf("the extra argument %q is not in argv", word))
			}
		}
	}
	return problems
}

// checkUntouched finds an adapter that writes into the slices of a request,
// past their ends included.
func (k *kit) checkUntouched() (problems []string) {
	make3 := func(words ...string) []string { return append(make([]string, 0, 8), words...) }
	build := func() aicodebox.Request {
		req := k.full()
		req.Tools = make3("read", "bash")
		req.ExtraArgs = make3("--kit-option")
		req.Env = make3("KIT=1")
		req.Schema = append(make(json.RawMessage, 0, 64), `{"type":"object"}`...)
		return req
	}
	req, want := build(), build()
	_, _, problems = k.argv(req)
	problems = append(problems, guard("BuildEnv", func() { aicodebox.BuildEnv(k.adapter, req, []string{"PATH=/bin"}) })...)
	for name, pair := range map[string][2]any{
		"Tools":     {req.Tools[:8], want.Tools[:8]},
		"ExtraArgs": {req.ExtraArgs[:8], want.ExtraArgs[:8]},
		"Env":       {req.Env[:8], want.Env[:8]},
		"Schema":    {req.Schema[:64], want.Schema[:64]},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			problems = append(problems, fmt.Sprintf("the adapter writes into Request.%s; clone it before changing it", name))
		}
	}
	return problems
}
