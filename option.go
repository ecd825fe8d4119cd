package aicodebox

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// Option changes what Run, Main and New make: one of the functions below, or
// what a surface's package returns.
type Option interface{ apply(o *options) }

type option func(*options)

func (f option) apply(o *options) { f(o) }

// options are the program's own choices.
type options struct {
	brand    string
	version  string
	logger   *slog.Logger
	lookup   func(string) (string, bool)
	environ  []string
	grace    time.Duration
	surfaces []Surface
	stdout   io.Writer
	stderr   io.Writer
}

// defaultGrace leaves two of the ten seconds that Docker gives a container to
// stop.
const defaultGrace = 8 * time.Second

func defaults() options {
	return options{
		version: buildVersion(), lookup: os.LookupEnv, environ: os.Environ(),
		grace: defaultGrace, stdout: os.Stdout, stderr: os.Stderr,
	}
}

// Brand gives the box the name of the program: its variables can be set with
// that name as prefix (PIBOX_API_MODE), and the box is called so unless
// CONTAINER_NAME says otherwise. name is lower case letters, digits, and
// inside it hyphens and underscores.
func Brand(name string) Option { return option(func(o *options) { o.brand = name }) }

// Logger makes the box log to l, whatever the LOG_ variables say.
func Logger(l *slog.Logger) Option { return option(func(o *options) { o.logger = l }) }

// Lookup makes the box read its settings from f instead of os.LookupEnv. The
// agents' environment is still made from the process's own.
func Lookup(f func(name string) (value string, ok bool)) Option {
	return option(func(o *options) { o.lookup = f })
}

// Grace sets the default of SHUTDOWN_GRACE_SECONDS.
func Grace(d time.Duration) Option { return option(func(o *options) { o.grace = d }) }

// Version sets the version of the program, which is otherwise the one that the
// Go command stamped into it.
func Version(v string) Option { return option(func(o *options) { o.version = v }) }

// Seat links s. Packages of surfaces call it for their users:
//
//	func Surface(opts ...Option) aicodebox.Option { return aicodebox.Seat(&surface{...}) }
func Seat(s Surface) Option {
	return option(func(o *options) { o.surfaces = append(o.surfaces, s) })
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

var (
	brands = regexp.MustCompile(`^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`)
	modes  = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)
)

// check returns what is wrong with the options.
func (o *options) check() error {
	var errs []error
	if o.brand != "" && !brands.MatchString(o.brand) {
		errs = append(errs, fmt.Errorf("brand %q: use lower case letters and digits, with single hyphens or underscores between them", o.brand))
	}
	if o.lookup == nil {
		errs = append(errs, errors.New("option Lookup needs a function"))
	}
	if o.grace < 0 {
		errs = append(errs, fmt.Errorf("option Grace(%v): use 0 or more", o.grace))
	}
	seen := make(map[string]bool)
	for _, s := range o.surfaces {
		if s == nil {
			errs = append(errs, errors.New("option Seat needs a surface, and got nil"))
			continue
		}
		if kind := fmt.Sprintf("%T", s); seen[kind] {
			errs = append(errs, fmt.Errorf("surface %s is linked twice; link it once", strings.TrimPrefix(kind, "*")))
		} else {
			seen[kind] = true
		}
		if mode := s.Mode(); !modes.MatchString(mode) {
			errs = append(errs, fmt.Errorf("surface %T has the mode %q: use upper case letters and digits", s, mode))
		}
	}
	return errors.Join(errs...)
}
