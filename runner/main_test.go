package runner

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/boxtest"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
)

// boxRole makes the test binary a box of its own, for tests that kill one or
// run one as process 1.
const boxRole = "RUNNER_TEST_BOX"

func TestMain(m *testing.M) {
	switch role := os.Getenv(boxRole); role {
	case "hang":
		boxThatHangs()
	case "many":
		boxOfMany()
	default:
		fakeagent.Main()
		os.Exit(m.Run())
	}
}

// script is an agent whose prompt is a shell script.
type script struct{}

func (script) BuildArgv(aicodebox.Request) ([]string, error) { return []string{"/bin/sh"}, nil }

func (script) ParseOutput(aicodebox.Request, aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{}, nil
}

// ownBox is a box with the settings of the environment.
func ownBox(a aicodebox.Adapter) *aicodebox.Box {
	if err := os.Unsetenv(boxRole); err != nil { // or the agents would be boxes
		panic(err)
	}
	box, err := aicodebox.New(a)
	if err != nil {
		panic(err)
	}
	return box
}

// boxThatHangs starts a run that never ends, prints its id and what its agent
// says, and waits to be killed.
func boxThatHangs() {
	box := ownBox(boxtest.Adapter{})
	prompt := "SETSID:300\nSAY:ready\nHANG"
	told := Events(func(e aicodebox.Event) { fmt.Println(e.Text) })
	info, err := Start(context.Background(), box, aicodebox.Request{Prompt: prompt}, told)
	if err != nil {
		panic(err)
	}
	fmt.Println("run", info.ID)
	select {}
}

// boxOfMany makes 200 runs that leave children behind, and prints how many
// exit statuses were wrong and how many children this process still has.
func boxOfMany() {
	box := ownBox(script{})
	wrong := 0
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Go(func() {
			code := i % 100
			got, err := Run(context.Background(), box, aicodebox.Request{
				Prompt: "sleep 300 & setsid sleep 0.1 & exit " + strconv.Itoa(code), Workspace: strconv.Itoa(i),
			})
			if err != nil || got.ExitCode != code {
				mu.Lock()
				wrong++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	var left []string
	for range 2000 {
		if left = commandsOf(adopted()); len(left) == 0 {
			break
		}
		<-afterDeath()
	}
	fmt.Println("wrong", wrong, "left", strings.Join(left, "; "))
	os.Exit(0)
}

// commandsOf names processes that are still there.
func commandsOf(pids []int) []string {
	var list []string
	for _, pid := range pids {
		if s, ok := readStat(pid); ok {
			list = append(list, fmt.Sprintf("%+v %s", s, commandLine(pid)))
		}
	}
	return list
}
