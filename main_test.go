package aicodebox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/psyb0t/aicodebox"
	"github.com/psyb0t/aicodebox/internal/atomicfile"
	"github.com/psyb0t/aicodebox/internal/fakeagent"
)

func TestMain(m *testing.M) {
	fakeagent.Main()
	testscript.Main(m, map[string]func(){"pibox": pibox, "get": get})
}

// pibox is the program that the scripts drive.
func pibox() {
	aicodebox.Run(scriptAdapter{}, aicodebox.Brand("pibox"), aicodebox.Version("1.2.3"),
		aicodebox.Seat(&desk{}), aicodebox.Seat(&clock{}), aicodebox.Seat(&guest{}))
}

// scriptAdapter runs the program "agent", which each script brings.
type scriptAdapter struct{}

func (scriptAdapter) Describe() aicodebox.Description {
	return aicodebox.Description{Name: "agent", Binary: "agent"}
}

func (scriptAdapter) BuildArgv(aicodebox.Request) ([]string, error) { return []string{"agent"}, nil }

func (scriptAdapter) ParseOutput(_ aicodebox.Request, out aicodebox.Output) (aicodebox.Reply, error) {
	return aicodebox.Reply{Text: string(out.Stdout)}, nil
}

func (scriptAdapter) BuildEnv(_ aicodebox.Request, env []string) []string {
	return append(env, "BUILT=yes")
}

func (scriptAdapter) Setup(s aicodebox.Settings) error {
	key := s.Secret("KEY", "key of the model provider")
	if key == "bad" {
		s.Errorf("KEY", "is known to be bad")
	}
	if key != "" {
		s.Export("PROVIDER_KEY", key)
		s.File(filepath.Join(s.Box().StateDir(), "agent.conf"), []byte("key\n"), 0o600)
	}
	s.Foreign("PROVIDER_URL", "address of the model provider")
	if s.Foreign("SETUP_FAILS", "makes the set-up fail") != "" {
		return errors.Join(errors.New("setup: first"), errors.New("setup: second"))
	}
	return nil
}

// desk is a surface with a server. It leaves its address in the state directory.
type desk struct {
	box  *aicodebox.Box
	mux  http.ServeMux
	port int64
}

func (*desk) Mode() string { return "API" }

func (d *desk) Settings(s aicodebox.Settings) {
	s.String("API_MODE_HOST", "", "address to listen on")
	d.port = s.Int("API_MODE_PORT", 0, 0, 65535, "port to listen on")
	s.Secret("API_MODE_TOKEN", "bearer token")
}

func (d *desk) Init(box *aicodebox.Box) error {
	d.box = box
	d.mux.HandleFunc("/hold", d.hold)
	d.mux.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Join(box.AgentEnv(), "\n"))
	})
	return nil
}

// hold holds a prompt for a number of seconds, or until the box gives up.
func (d *desk) hold(w http.ResponseWriter, r *http.Request) {
	release, err := d.box.Hold()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer release()
	seconds, _ := strconv.ParseFloat(r.FormValue("seconds"), 64)
	touch(d.box, "held")
	select {
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		_, _ = io.WriteString(w, "answered")
	case <-d.box.Work().Done():
		_, _ = io.WriteString(w, "cut")
	}
}

func (d *desk) Mount(pattern string, h http.Handler) { d.mux.Handle(pattern, h) }

func (d *desk) Serve(ctx context.Context) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", d.port))
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: &d.mux, ReadHeaderTimeout: time.Second}
	go func() { _ = srv.Serve(ln) }()
	leave(d.box, "address", ln.Addr().String())
	<-ctx.Done()
	touch(d.box, "draining")
	return srv.Shutdown(context.WithoutCancel(ctx))
}

// clock is a surface with a required setting, which tells of reloads.
type clock struct {
	box  *aicodebox.Box
	file string
}

func (*clock) Mode() string { return "CRON" }

func (c *clock) Settings(s aicodebox.Settings) {
	c.file = s.Required("CRON_MODE_FILE", "file with the jobs")
}

func (c *clock) Init(box *aicodebox.Box) error {
	c.box = box
	if _, err := os.Stat(c.file); err != nil {
		return fmt.Errorf("read cron file: %w", err)
	}
	return nil
}

func (c *clock) Serve(ctx context.Context) error {
	data, _ := os.ReadFile(c.file)
	switch strings.TrimSpace(string(data)) {
	case "fail":
		return errors.New("the clock broke")
	case "panic":
		panic("the clock blew up")
	case "end":
		return nil
	}
	for n := 0; ; n++ {
		reload := c.box.Reload()
		leave(c.box, "clock", strconv.Itoa(n))
		select {
		case <-ctx.Done():
			return nil
		case <-reload:
		}
	}
}

// guest is a surface that is seated on another's server, or serves nothing.
type guest struct {
	box    *aicodebox.Box
	seated bool
}

func (*guest) Mode() string { return "MCP" }

func (g *guest) Init(box *aicodebox.Box) error {
	g.box = box
	return nil
}

func (g *guest) Handler() (string, http.Handler) {
	g.seated = true
	return "/mcp", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "guest")
	})
}

func (g *guest) Serve(ctx context.Context) error {
	leave(g.box, "guest", strconv.FormatBool(g.seated))
	<-ctx.Done()
	return nil
}

func (g *guest) Commands() []aicodebox.Command {
	return []aicodebox.Command{{
		Name: "greet", Summary: "greets", Ready: true,
		Run: func(_ context.Context, box *aicodebox.Box, args []string, out io.Writer) error {
			if len(args) == 0 {
				return errors.New("whom?")
			}
			_, err := fmt.Fprintf(out, "hello %s from %s in %s\n", args[0], box.Name(), filepath.Base(box.Workspaces().Dir()))
			return err
		},
	}}
}

func leave(box *aicodebox.Box, name, text string) {
	if err := atomicfile.Write(filepath.Join(box.StateDir(), name), []byte(text), 0o600); err != nil {
		box.Log().Error("leave a sign", "error", err)
	}
}

func touch(box *aicodebox.Box, name string) { leave(box, name, "") }

// get asks the desk of the box whose state directory is ./state.
func get() {
	address, err := os.ReadFile("state/address")
	if err == nil {
		err = fetch("http://" + string(address) + os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fetch(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
