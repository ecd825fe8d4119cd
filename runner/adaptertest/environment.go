package adaptertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psyb0t/aicodebox"
)

// secret is a value that must not be seen on a command line, which every user
// of a machine can read.
const secret = "kit-secret-2f6c1d"

// checkEnvironment looks for secrets in argv and for what BuildEnv loses.
func (k *kit) checkEnvironment() (problems []string) {
	req := k.full()
	req.Env = []string{"KIT_API_KEY=" + secret, "OPENAI_API_KEY=" + secret, "ANTHROPIC_API_KEY=" + secret}
	argv, _, problems := k.argv(req)
	for i, word := range argv {
		if strings.Contains(word, secret) {
			problems = append(problems, fmt.Sprintf("argv[%d] shows a secret of the environment", i))
		}
	}
	given := []string{"PATH=/usr/bin:/bin", "HOME=/home/kit", "KIT_OTHER=a=b", "EMPTY="}
	var got []string
	problems = append(problems, guard("BuildEnv", func() {
		got = aicodebox.BuildEnv(k.adapter, req, slices.Clone(given))
	})...)
	for _, v := range given {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, name+"=") }) {
			problems = append(problems, fmt.Sprintf("BuildEnv loses %s", name))
		}
	}
	for _, v := range got {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" || strings.IndexByte(v, 0) >= 0 {
			problems = append(problems, fmt.Sprintf("BuildEnv gives %q, which is not NAME=value", v))
		}
	}
	return problems
}

// checkLaunch passes a person's arguments on.
func (k *kit) checkLaunch() (problems []string) {
	for _, args := range [][]string{nil, {"-p", "list the files"}, {"--", "--help", ""}} {
		var argv []string
		given := slices.Clone(args)
		problems = append(problems, guard("Launch", func() { argv = aicodebox.Launch(k.adapter, given) })...)
		if len(argv) == 0 || argv[0] == "" {
			problems = append(problems, fmt.Sprintf("Launch gives no program for the arguments %q", args))
			continue
		}
		if !slices.Equal(given, args) {
			problems = append(problems, "Launch changes the arguments it was given")
		}
		for _, word := range args {
			if !slices.Contains(argv[1:], word) {
				problems = append(problems, fmt.Sprintf("Launch loses the argument %q", word))
			}
		}
	}
	return problems
}
