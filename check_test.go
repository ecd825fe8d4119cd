package aicodebox_test

import (
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox"
)

type wrongType struct{ echo }

func (wrongType) Validate(string) error { return nil }

type onPointer struct{ echo }

func (*onPointer) Launch([]string) []string { return nil }

type wrapper struct{ aicodebox.Adapter }

func (w wrapper) Unwrap() aicodebox.Adapter { return w.Adapter }

type other struct{ echo }

// Tools has no capability's name.
func (other) Tools() {}

func TestNewChecksAdapter(t *testing.T) {
	t.Parallel()
	var none *onPointer
	for name, test := range map[string]struct {
		adapter aicodebox.Adapter
		want    []string // in the error; none if it is accepted
	}{
		"nil":         {nil, []string{"the adapter is nil"}},
		"nil pointer": {none, []string{"the adapter is a nil *aicodebox_test.onPointer"}},
		"wrong type": {wrongType{}, []string{
			"aicodebox_test.wrongType: method Validate has the type func(string) error",
			"aicodebox.ValidateAdapter needs func(aicodebox.Request) error", "rename it",
		}},
		"pointer only": {onPointer{}, []string{
			"aicodebox_test.onPointer: method Launch of type func([]string) []string is declared on *aicodebox_test.onPointer", "pass a pointer",
		}},
		"pointer":          {&onPointer{}, nil},
		"wrapped":          {wrapper{wrongType{}}, []string{"method Validate"}},
		"wrapped nil":      {wrapper{}, []string{"the adapter is nil"}},
		"other method":     {other{}, nil},
		"plain":            {echo{}, nil},
		"plain by pointer": {&echo{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, err := newBox(t, test.adapter, nil)
			if len(test.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted", box)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestNewChecksOptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options []aicodebox.Option
		want    string
	}{
		"brand":         {[]aicodebox.Option{aicodebox.Brand("Pi Box")}, `brand "Pi Box": use lower case`},
		"lookup":        {[]aicodebox.Option{aicodebox.Lookup(nil)}, "Lookup needs a function"},
		"grace":         {[]aicodebox.Option{aicodebox.Grace(-1)}, "use 0 or more"},
		"nil option":    {[]aicodebox.Option{nil}, "nil option"},
		"nil surface":   {[]aicodebox.Option{aicodebox.Seat(nil)}, "got nil"},
		"twice":         {[]aicodebox.Option{aicodebox.Seat(&desk{}), aicodebox.Seat(&desk{})}, "aicodebox_test.desk is linked twice"},
		"mode":          {[]aicodebox.Option{aicodebox.Seat(odd{})}, `the mode "odd-mode"`},
		"typed nothing": {[]aicodebox.Option{aicodebox.Brand("pi")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newBox(t, echo{}, nil, test.options...)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error lacks %q: %v", test.want, err)
			}
		})
	}
}

type odd struct{ aicodebox.Surface }

func (odd) Mode() string { return "odd-mode" }
