package aicodebox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/psyb0t/aicodebox/internal/env"
	"github.com/psyb0t/aicodebox/internal/health"
)

// finding is one line of the doctor.
type finding struct {
	what string // what was looked at
	says string // what was found
	mend string // how to mend it; empty if all is well
	soft bool   // the box works all the same
}

// doctor looks at everything a box needs and prints what it found. It returns
// exitFailed if something is broken.
func (s *start) doctor() int {
	code := exitOK
	for _, f := range s.examine() {
		mark := "ok  "
		switch {
		case f.mend != "" && f.soft:
			mark = "warn"
		case f.mend != "":
			mark, code = "FAIL", exitFailed
		}
		s.printf("%s  %-14s %s\n", mark, f.what, f.says)
		if f.mend != "" {
			s.printf("      %-14s -> %s\n", "", f.mend)
		}
	}
	return code
}

func (s *start) examine() []finding {
	findings := []finding{s.examineBinary(), s.examineModels(), s.examineModes()}
	findings = append(findings,
		s.examineDir("workspace", s.workspace, "WORKSPACE"),
		s.examineDir("state", s.box.stateDir, "STATE_DIR"))
	findings = append(findings, s.examinePorts()...)
	findings = append(findings, s.examineTokens()...)
	for _, text := range s.errors() {
		findings = append(findings, finding{what: "configuration", says: text, mend: "set the variable to what it accepts, or unset it"})
	}
	for _, text := range s.table.Warnings() {
		findings = append(findings, finding{what: "configuration", says: text, mend: "correct or remove it", soft: true})
	}
	return findings
}

func (s *start) examineBinary() finding {
	if err := s.binaryError(); err != nil {
		return finding{what: "agent", says: err.Error(), mend: "install the agent, or set " + s.table.Name("AGENT_BINARY") + " to its name or path"}
	}
	return finding{what: "agent", says: s.box.desc.Binary}
}

func (s *start) examineModels() finding {
	if len(s.box.models) > 0 {
		return finding{what: "models", says: strings.Join(s.box.models, ", ")}
	}
	return finding{
		what: "models", says: "none", soft: !s.enabledMode("API"),
		mend: "set " + s.table.Name("AVAILABLE_MODELS") + " to a list of models; the API mode does not start without one",
	}
}

func (s *start) enabledMode(mode string) bool {
	for _, on := range s.on {
		if on == mode {
			return true
		}
	}
	return false
}

func (s *start) examineModes() finding {
	if len(s.on) == 0 {
		return finding{what: "modes", says: "none is on: the program becomes the agent"}
	}
	return finding{what: "modes", says: strings.Join(s.on, ", ")}
}

// permissions of access(2), of <unistd.h>.
const (
	mayWrite  = 2
	maySearch = 1
)

// examineDir looks at a directory that the box writes to, and makes if it is
// missing.
func (s *start) examineDir(what, dir, name string) finding {
	mend := "make it writable for this user, or set " + s.table.Name(name) + " to another directory"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if parent := existing(dir); syscall.Access(parent, mayWrite|maySearch) != nil {
			return finding{what: what, says: dir + " is missing and cannot be made", mend: mend}
		}
		return finding{what: what, says: dir + " (is made at the start)"}
	case err != nil:
		return finding{what: what, says: err.Error(), mend: mend}
	case !info.IsDir():
		return finding{what: what, says: dir + " is not a directory", mend: mend}
	case syscall.Access(dir, mayWrite|maySearch) != nil:
		return finding{what: what, says: dir + " cannot be written to", mend: mend}
	}
	return finding{what: what, says: dir}
}

// existing returns the nearest directory above dir that exists.
func existing(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(parent); err == nil || parent == dir {
			return parent
		}
		dir = parent
	}
}

// examinePorts looks at the ports of the modes that are on and have a server
// of their own.
func (s *start) examinePorts() []finding {
	var findings []finding
	rows := make(map[string]env.Row)
	for _, row := range s.table.Rows() {
		rows[row.Name] = row
	}
	for _, mode := range s.on {
		port, ok := rows[mode+"_MODE_PORT"]
		if ok && !s.seated(mode) {
			findings = append(findings, s.examinePort(port, rows[mode+"_MODE_HOST"].Value))
		}
	}
	return findings
}

// seated tells whether all surfaces of mode are reached under the server of
// another mode.
func (s *start) seated(mode string) bool {
	hosted := false
	for _, surface := range s.surfaces {
		_, host := surface.(MountSurface)
		if host && s.enabled(surface) {
			hosted = true
			if surface.Mode() == mode {
				return false
			}
		}
	}
	return hosted
}

func (s *start) examinePort(port env.Row, host string) finding {
	address := net.JoinHostPort(host, port.Value)
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", address)
	if err == nil {
		_ = ln.Close()
		return finding{what: "port", says: address + " is free"}
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		if _, asked := health.Ask(s.socket()); asked == nil {
			return finding{what: "port", says: address + " is used by the running box"}
		}
	}
	return finding{what: "port", says: fmt.Sprintf("%s cannot be used: %v", address, err), mend: "set " + s.fullName(port) + " to a free port"}
}

// examineTokens looks at the secrets of the modes that are on.
func (s *start) examineTokens() []finding {
	var findings []finding
	for _, row := range s.table.Rows() {
		if !row.Secret || !s.enabledMode(row.Group) {
			continue
		}
		if row.From != "" {
			findings = append(findings, finding{what: "token", says: row.From + " is set"})
			continue
		}
		findings = append(findings, finding{
			what: "token", says: s.fullName(row) + " is not set: " + row.Meaning, soft: true,
			mend: "set it, or its _FILE form; without it everybody who reaches the box can use it",
		})
	}
	return findings
}
