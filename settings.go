package aicodebox

import (
	"os"
	"time"

	"github.com/psyb0t/aicodebox/internal/env"
)

// Settings declares environment variables and reads them, in one call each, so
// that the parser, the start-up errors, `box config` and the documentation
// cannot disagree. Names are written without prefix: "API_MODE_PORT" is read
// from AICODEBOX_API_MODE_PORT and from the brand's alias.
//
// A value that does not fit is recorded as a start-up error and the default is
// returned. The methods are for use during start, from one goroutine.
type Settings struct {
	table *env.Table
	box   *Box
	files *[]settingsFile
}

// settingsFile is a file that waits for the configuration to be found good.
type settingsFile struct {
	path string
	data []byte
	mode os.FileMode
}

// String reads a text.
func (s Settings) String(name, def, meaning string) string {
	return s.table.String(name, def, meaning)
}

// Required reads a text that must be set.
func (s Settings) Required(name, meaning string) string {
	return s.table.Required(name, meaning)
}

// Secret reads a text that must not be shown, from the variable or from the
// file that its _FILE form names. Secrets never reach an agent's environment.
func (s Settings) Secret(name, meaning string) string {
	return s.table.Secret(name, meaning)
}

// Bool reads a switch: 1, true, yes, on; 0, false, no, off.
func (s Settings) Bool(name string, def bool, meaning string) bool {
	return s.table.Bool(name, def, meaning)
}

// Int reads a whole number from low to high, both included.
func (s Settings) Int(name string, def, low, high int64, meaning string) int64 {
	return s.table.Int(name, def, low, high, meaning)
}

// Seconds reads a whole number of seconds, 0 or more.
func (s Settings) Seconds(name string, def time.Duration, meaning string) time.Duration {
	return s.table.Seconds(name, def, meaning)
}

// Choice reads one of a few words.
func (s Settings) Choice(name, def string, choices []string, meaning string) string {
	return s.table.Choice(name, def, choices, meaning)
}

// List reads words separated by commas; spaces around them and empty words are
// dropped. An unset variable gives nil.
func (s Settings) List(name, meaning string) []string {
	return s.table.List(name, meaning)
}

// Foreign reads a variable under its full name, without a prefix: one that is
// not ours, such as ANTHROPIC_BASE_URL.
func (s Settings) Foreign(name, meaning string) string {
	return s.table.Foreign(name, meaning)
}

// IsSet tells whether the variable name has a value that is not empty.
func (s Settings) IsSet(name string) bool { return s.table.IsSet(name) }

// Name returns the full name a user would set: the brand's form of name.
func (s Settings) Name(name string) string { return s.table.Name(name) }

// Errorf records a start-up error about the variable name (without prefix).
func (s Settings) Errorf(name, format string, args ...any) { s.table.Errorf(name, format, args...) }

// Warnf records a warning that is logged once the box starts.
func (s Settings) Warnf(format string, args ...any) { s.table.Warnf(format, args...) }

// Export adds a variable to the environment of every agent, after the box's
// own variables and secrets were taken out.
func (s Settings) Export(name, value string) {
	s.box.agentEnv = append(s.box.agentEnv, name+"="+value)
}

// File queues a file the agent needs. It is written atomically, its
// directories made, once the whole configuration is found good; never by
// `box config` and the like.
func (s Settings) File(path string, data []byte, mode os.FileMode) {
	*s.files = append(*s.files, settingsFile{path, data, mode})
}

// Box returns the box being started. Only its name, models, efforts and state
// directory are known, and its workspaces, unless it is not to serve (`box
// config`, or a box that becomes the agent): then Workspaces may be nil.
func (s Settings) Box() *Box { return s.box }
