package aicodebox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// resolve returns the absolute path of the program name, or name itself if it
// is not found.
func (s *start) resolve(name string) string {
	path, err := s.find(name)
	if err != nil {
		return name
	}
	return path
}

// find looks for the program name as a shell would, and returns its absolute
// path: agents are started in other directories.
func (s *start) find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return filepath.Abs(name)
	}
	path, ok := s.lookup("PATH")
	if !ok {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); dir != "" && executable(file) == nil {
			return filepath.Abs(file)
		}
	}
	return "", fmt.Errorf("%q is in no directory of PATH", name)
}

// executable tells what keeps the file path from being run.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%q does not exist or cannot be reached", path)
	case info.IsDir():
		return fmt.Errorf("%q is a directory", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%q is not executable", path)
	}
	return nil
}

// checkBinary reports an agent that cannot be started.
func (s *start) checkBinary() {
	if err := s.binaryError(); err != nil {
		s.table.Errorf("AGENT_BINARY", "must lead to the agent's executable, but %v; install the agent, or set the variable to its name or path", err)
	}
}

func (s *start) binaryError() error {
	name := s.box.desc.Binary
	if name == "" {
		return fmt.Errorf("neither it nor the adapter %T names one", s.adapter)
	}
	path, err := s.find(name)
	if err == nil {
		err = executable(path)
	}
	return err
}
