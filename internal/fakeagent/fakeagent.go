// Package fakeagent is an agent for tests: the test binary run again. It is a
// real process that obeys its prompt, so that every test crosses a real process
// boundary.
//
// A test package opts in with
//
//	func TestMain(m *testing.M) { fakeagent.Main(); os.Exit(m.Run()) }
//
// and runs Command() with Env() in the environment. The prompt, on standard
// input, is a list of commands, one a line:
//
//	SAY:x          print x and a newline (\n, \t and \xHH are understood)
//	RAW:x          print x
//	ERR:x          print x and a newline to standard error
//	SLEEP:s        sleep s seconds (fractions allowed)
//	HANG           sleep for ever
//	EXIT:n         exit with status n
//	KILL:n         end by signal n
//	IGNTERM        ignore SIGTERM
//	TICK:n:s       print n lines, s seconds apart
//	LINES:n        print n short lines
//	JSONLINES:n:b  print n JSON text records of about b bytes each
//	BYTES:n        print n bytes in one line
//	SEQ:a|b|c      print the next item at each run in this directory
//	FORK:s         leave a child in the agent's group that holds standard output for s seconds
//	SETSID:s       leave a child in a session of its own that holds standard output for s seconds
//	BG:s           leave a child in a session of its own that holds nothing for s seconds
//	ENV            print the environment, one variable a line
//	ENV:NAME       print one variable
//	CWD            print the working directory
//	WRITE:f:x      write x to the file f
//	TOUCH:f        make the file f (a sign that a test can wait for)
//	AWAIT:f        wait until the file f exists
//	ECHO           print arguments, directory and prompt as one JSON object
//	NOREAD         (as the first argument, not a command) do not read standard input
//	@usage {json}  @session id  @error text  @event {json}  @done
//	               are printed as they stand, for the test adapter to read
//
// A prompt without any command is answered with "you said N bytes". Only lines
// of the prompt's first block of commands count; other lines are ignored.
package fakeagent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const marker = "FAKEAGENT"

// Env is the environment variable, as NAME=value, that turns the test binary
// into the agent.
func Env() string { return marker + "=1" }

// Command returns the path of the running test binary.
func Command() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

// Main turns the process into the agent and never returns if Env is set;
// otherwise it does nothing. The agent ends by syscall.Exit, since os.Exit waits
// a second under the race detector.
func Main() {
	switch os.Getenv(marker) {
	case "1":
		run(os.Args[1:])
		syscall.Exit(0)
	case "child":
		time.Sleep(seconds(os.Args[len(os.Args)-1]))
		syscall.Exit(0)
	}
}

func run(args []string) {
	var prompt string
	if len(args) == 0 || args[0] != "NOREAD" {
		data, err := io.ReadAll(os.Stdin)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(1)
		}
		prompt = string(data)
	}
	for i, a := range args {
		if a == "--prompt" && i+1 < len(args) {
			prompt = args[i+1]
		}
	}
	if !obey(prompt, args) {
		fmt.Printf("you said %d bytes\n", len(prompt))
	}
}

// obey carries out the commands in prompt and tells whether there was one.
func obey(prompt string, args []string) bool {
	found := false
	for line := range strings.SplitSeq(prompt, "\n") {
		name, rest, _ := strings.Cut(strings.TrimRight(line, "\r"), ":")
		if strings.HasPrefix(line, "@") {
			found = true
			fmt.Println(line)
			continue
		}
		if f, ok := commands[name]; ok {
			found = true
			f(rest, prompt, args)
		}
	}
	return found
}

var commands map[string]func(rest, prompt string, args []string)

func init() { // breaks the cycle between the table and obey
	commands = map[string]func(rest, prompt string, args []string){
		"SAY":       func(s, _ string, _ []string) { fmt.Println(unescape(s)) },
		"RAW":       func(s, _ string, _ []string) { fmt.Print(unescape(s)) },
		"ERR":       func(s, _ string, _ []string) { fmt.Fprintln(os.Stderr, unescape(s)) },
		"SLEEP":     func(s, _ string, _ []string) { time.Sleep(seconds(s)) },
		"HANG":      func(_, _ string, _ []string) { time.Sleep(time.Hour) },
		"EXIT":      func(s, _ string, _ []string) { syscall.Exit(number(s)) },
		"KILL":      func(s, _ string, _ []string) { killSelf(number(s)) },
		"IGNTERM":   func(_, _ string, _ []string) { signal.Ignore(syscall.SIGTERM) },
		"TICK":      func(s, _ string, _ []string) { tick(s) },
		"LINES":     func(s, _ string, _ []string) { lines(number(s)) },
		"JSONLINES": func(s, _ string, _ []string) { jsonLines(s) },
		"BYTES":     func(s, _ string, _ []string) { bytesOf(number(s)) },
		"SEQ":       func(s, _ string, _ []string) { sequence(s) },
		"FORK":      func(s, _ string, _ []string) { child(s, false, true) },
		"SETSID":    func(s, _ string, _ []string) { child(s, true, true) },
		"BG":        func(s, _ string, _ []string) { child(s, true, false) },
		"ENV":       func(s, _ string, _ []string) { environment(s) },
		"CWD":       func(_, _ string, _ []string) { fmt.Println(cwd()) },
		"WRITE":     func(s, _ string, _ []string) { write(s) },
		"TOUCH":     func(s, _ string, _ []string) { write(s + ":") },
		"AWAIT":     func(s, _ string, _ []string) { await(s) },
		"ECHO":      func(_, prompt string, args []string) { echo(prompt, args) },
	}
}

func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		fatal("not a number of seconds: " + s)
	}
	return time.Duration(f * float64(time.Second))
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		fatal("not a number: " + s)
	}
	return n
}

func fatal(text string) {
	fmt.Fprintln(os.Stderr, "fakeagent: "+text)
	syscall.Exit(99)
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	s = strings.ReplaceAll(s, `"`, `\"`)
	if out, err := strconv.Unquote(`"` + s + `"`); err == nil {
		return out
	}
	return strings.ReplaceAll(s, `\"`, `"`)
}

func killSelf(n int) {
	_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
	time.Sleep(time.Hour)
}

func tick(s string) {
	n, gap, _ := strings.Cut(s, ":")
	for i := range number(n) {
		if i > 0 {
			time.Sleep(seconds(gap))
		}
		fmt.Printf("tick %d\n", i+1)
	}
}

func lines(n int) {
	w := bufio.NewWriterSize(os.Stdout, 1<<16)
	for i := range n {
		fmt.Fprintf(w, "line %d\n", i+1)
	}
	_ = w.Flush()
}

func jsonLines(s string) {
	n, size, _ := strings.Cut(s, ":")
	w := bufio.NewWriterSize(os.Stdout, 1<<16)
	pad := strings.Repeat("x", number(size))
	for i := range number(n) {
		fmt.Fprintf(w, "{\"type\":\"noise\",\"n\":%d,\"pad\":\"%s\"}\n", i, pad)
	}
	_ = w.Flush()
}

func bytesOf(n int) {
	w := bufio.NewWriterSize(os.Stdout, 1<<16)
	for range n {
		_ = w.WriteByte('b')
	}
	_ = w.WriteByte('\n')
	_ = w.Flush()
}

func sequence(s string) {
	items := strings.Split(s, "|")
	const state = ".sequence"
	data, _ := os.ReadFile(state)
	i, _ := strconv.Atoi(string(data))
	write(state + ":" + strconv.Itoa(i+1))
	item := items[min(i, len(items)-1)]
	if code, ok := strings.CutPrefix(item, "!"); ok {
		fmt.Fprintln(os.Stderr, "scripted exit "+code)
		syscall.Exit(number(code))
	}
	fmt.Println(unescape(item))
}

func child(s string, setsid, holdsOutput bool) {
	cmd := exec.Command(Command(), s) //nolint:noctx // it must outlive its parent
	cmd.Env = append(os.Environ(), marker+"=child")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if holdsOutput {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	if err := cmd.Start(); err != nil {
		fatal(err.Error())
	}
	fmt.Printf("child %d\n", cmd.Process.Pid)
}

func environment(name string) {
	if name != "" {
		fmt.Println(os.Getenv(name))
		return
	}
	for _, v := range os.Environ() {
		fmt.Println(v)
	}
}

func cwd() string {
	dir, err := os.Getwd()
	if err != nil {
		fatal(err.Error())
	}
	return dir
}

func write(s string) {
	name, text, _ := strings.Cut(s, ":")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		fatal(err.Error())
	}
	if err := os.WriteFile(name, []byte(unescape(text)), 0o644); err != nil {
		fatal(err.Error())
	}
}

func await(name string) {
	for {
		if _, err := os.Stat(name); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func echo(prompt string, args []string) {
	data, err := json.Marshal(map[string]any{
		"argv": args, "cwd": cwd(), "pid": os.Getpid(), "pgid": syscall.Getpgrp(), "stdin": prompt,
	})
	if err != nil {
		fatal(err.Error())
	}
	fmt.Println(string(data))
}
