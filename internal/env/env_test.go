package env_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psyb0t/aicodebox/internal/env"
)

// table returns a table with the brand pibox over values.
func table(values map[string]string) *env.Table {
	return env.New(func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}, "pibox")
}

func TestPrefixOf(t *testing.T) {
	t.Parallel()
	for brand, want := range map[string]string{
		"": "AICODEBOX_", "aicodebox": "AICODEBOX_", "pibox": "PIBOX_", "pi-box": "PI_BOX_", "pi_box2": "PI_BOX2_",
	} {
		if got := env.PrefixOf(brand); got != want {
			t.Errorf("PrefixOf(%q) = %q, want %q", brand, got, want)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values     map[string]string
		want, from string
	}{
		"default":         {nil, "def", ""},
		"brand":           {map[string]string{"PIBOX_X": "b"}, "b", "PIBOX_X"},
		"house":           {map[string]string{"AICODEBOX_X": "a"}, "a", "AICODEBOX_X"},
		"both":            {map[string]string{"AICODEBOX_X": "a", "PIBOX_X": "b"}, "a", "AICODEBOX_X"},
		"empty is unset":  {map[string]string{"AICODEBOX_X": "", "PIBOX_X": "b"}, "b", "PIBOX_X"},
		"both empty":      {map[string]string{"AICODEBOX_X": "", "PIBOX_X": ""}, "def", ""},
		"no prefix":       {map[string]string{"X": "x"}, "def", ""},
		"another's brand": {map[string]string{"CATBOX_X": "x"}, "def", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := table(test.values)
			if got := tab.String("X", "def", "an x"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			row := tab.Rows()[0]
			if row.From != test.from || row.Value != test.want || tab.IsSet("X") != (test.from != "") {
				t.Errorf("row %+v", row)
			}
		})
	}
}

// TestValues reads X as each kind.
func TestValues(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(*env.Table) any{
		"bool":    func(t *env.Table) any { return t.Bool("X", false, "") },
		"on":      func(t *env.Table) any { return t.Bool("X", true, "") },
		"int":     func(t *env.Table) any { return t.Int("X", 5, 1, 9, "") },
		"seconds": func(t *env.Table) any { return t.Seconds("X", time.Minute, "") },
		"choice":  func(t *env.Table) any { return t.Choice("X", "red", []string{"red", "blue", "grey"}, "") },
		"list":    func(t *env.Table) any { return t.List("X", "") },
		"listOr":  func(t *env.Table) any { return t.ListOr("X", []string{"d"}, "") },
	}
	for _, test := range []struct {
		kind, value string
		want        any
		fault       string // what it accepts, if it does not fit
	}{
		{"bool", "", false, ""},
		{"bool", "1", true, ""},
		{"bool", "TRUE", true, ""},
		{"bool", "Yes", true, ""},
		{"bool", "on", true, ""},
		{"on", "", true, ""},
		{"on", "0", false, ""},
		{"on", "False", false, ""},
		{"on", "no", false, ""},
		{"on", "OFF", false, ""},
		{"bool", "y", false, "1, true, yes, on, or 0, false, no, off"},
		{"on", "2", true, "1, true, yes, on, or 0, false, no, off"},
		{"on", " 1", true, "1, true, yes, on, or 0, false, no, off"},
		{"int", "", int64(5), ""},
		{"int", "1", int64(1), ""},
		{"int", "9", int64(9), ""},
		{"int", "10", int64(5), "a whole number from 1 to 9"},
		{"int", "0", int64(5), "a whole number from 1 to 9"},
		{"int", "1e1", int64(5), "a whole number from 1 to 9"},
		{"int", "99999999999999999999", int64(5), "a whole number from 1 to 9"},
		{"seconds", "", time.Minute, ""},
		{"seconds", "0", time.Duration(0), ""},
		{"seconds", "3", 3 * time.Second, ""},
		{"seconds", "3s", time.Minute, "a whole number of seconds, 0 or more"},
		{"seconds", "-1", time.Minute, "a whole number of seconds, 0 or more"},
		{"seconds", "9223372036854775807", time.Minute, "a whole number of seconds, 0 or more"},
		{"choice", "", "red", ""},
		{"choice", "BLUE", "blue", ""},
		{"choice", "green", "red", "red, blue or grey"},
		{"list", "", []string(nil), ""},
		{"list", " , ,", []string(nil), ""},
		{"list", "a, b ,,c", []string{"a", "b", "c"}, ""},
		{"listOr", "", []string{"d"}, ""},
		{"listOr", ",", []string(nil), ""},
	} {
		t.Run(test.kind+"="+test.value, func(t *testing.T) {
			t.Parallel()
			tab := table(map[string]string{"PIBOX_X": test.value})
			if diff := cmp.Diff(test.want, kinds[test.kind](tab)); diff != "" {
				t.Error(diff)
			}
			var want []string
			if test.fault != "" {
				want = []string{`PIBOX_X is "` + test.value + `"; it accepts ` + test.fault}
			}
			if diff := cmp.Diff(want, tab.Errors(nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	tab := table(map[string]string{"PIBOX_B": "b"})
	if got := tab.Required("A", "the a") + tab.Required("B", "the b"); got != "b" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff([]string{"PIBOX_A is required and not set: the a"}, tab.Errors(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "hidden value\r\n")
	for name, test := range map[string]struct {
		values map[string]string
		want   string
		fault  string
	}{
		"unset":        {nil, "", ""},
		"value":        {map[string]string{"PIBOX_T": "hidden value"}, "hidden value", ""},
		"file":         {map[string]string{"PIBOX_T_FILE": good}, "hidden value", ""},
		"house first":  {map[string]string{"AICODEBOX_T_FILE": good, "PIBOX_T_FILE": "/missing"}, "hidden value", ""},
		"empty beside": {map[string]string{"PIBOX_T_FILE": good, "PIBOX_T": ""}, "hidden value", ""},
		"both": {
			map[string]string{"PIBOX_T": "hidden value", "AICODEBOX_T_FILE": good},
			"hidden value",
			"PIBOX_T and AICODEBOX_T_FILE are both set; set only one of them",
		},
		"missing": {
			map[string]string{"PIBOX_T_FILE": "/nonexistent/token"},
			"",
			"PIBOX_T_FILE names a file that cannot be used: open /nonexistent/token: no such file or directory",
		},
		"directory": {
			map[string]string{"PIBOX_T_FILE": dir},
			"",
			"PIBOX_T_FILE names a file that cannot be used: " + dir + " is a directory",
		},
		"empty": {
			map[string]string{"PIBOX_T_FILE": write("empty", "\n")},
			"",
			"PIBOX_T_FILE names the file " + filepath.Join(dir, "empty") + ", which is empty; it must hold the secret",
		},
		"binary": {
			map[string]string{"PIBOX_T_FILE": write("binary", "a\x00b")},
			"",
			"PIBOX_T_FILE names the file " + filepath.Join(dir, "binary") + ", which is not a text",
		},
		"long": {
			map[string]string{"PIBOX_T_FILE": write("long", strings.Repeat("x", 70_000))},
			"",
			"PIBOX_T_FILE names a file that cannot be used: " + filepath.Join(dir, "long") + " is too long to be a secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tab := table(test.values)
			if got := tab.Secret("T", "a token"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			var want []string
			if test.fault != "" {
				want = []string{test.fault}
			}
			if diff := cmp.Diff(want, tab.Errors(nil)); diff != "" {
				t.Error(diff)
			}
			if row := tab.Rows()[0]; strings.Contains(row.Value, "hidden") || !row.Secret {
				t.Errorf("row %+v", row)
			}
		})
	}
}

func TestSecretFileWarns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(file, []byte("value"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("value"), 0o600) }()
	tab := table(map[string]string{"PIBOX_T_FILE": file, "PIBOX_U_FILE": pipe})
	if got := tab.Secret("T", "") + tab.Secret("U", ""); got != "valuevalue" {
		t.Errorf("got %q", got)
	}
	if w := tab.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0], "PIBOX_T_FILE: the user that agents run as can read "+file) {
		t.Errorf("warnings: %q", w)
	}
}

func TestNoTextHoldsSecret(t *testing.T) {
	t.Parallel()
	tab := table(map[string]string{"PIBOX_T": "hidden-value", "PIBOX_URL": "http://me:pass@host/x", "API_KEY": "hidden-too", "PLACE": "here"})
	value := tab.Secret("T", "")
	tab.String("URL", "", "")
	tab.Foreign("API_KEY", "")
	tab.Foreign("PLACE", "")
	tab.Errorf("T", "is %s, which is bad", value)
	tab.Warnf("so %s is wrong", value)
	if diff := cmp.Diff([]string{"PIBOX_T is ***, which is bad"}, tab.Errors(nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"so *** is wrong"}, tab.Warnings()); diff != "" {
		t.Error(diff)
	}
	var shown []string
	for _, row := range tab.Rows() {
		shown = append(shown, row.Value)
	}
	if diff := cmp.Diff([]string{"***", "http://***@host/x", "***", "here"}, shown); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"hidden-value"}, tab.Secrets("other")); diff != "" {
		t.Error(diff)
	}
	if got := tab.Secrets(""); got != nil {
		t.Errorf("Secrets: %q", got)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	tab := table(map[string]string{"PIBOX_N": "x"})
	first, second := tab.Group("first"), tab.Group("second")
	first.Int("N", 1, 0, 9, "")
	second.Int("N", 1, 0, 9, "") // two parts may share a variable
	second.Required("M", "")
	if got := tab.Errors(nil); len(got) != 2 {
		t.Errorf("errors: %q", got)
	}
	got := tab.Errors(func(group string) bool { return group == "first" })
	if len(got) != 1 || !first.Faulty("first") || first.Faulty("third") {
		t.Errorf("errors: %q", got)
	}
	rows := tab.Rows()
	if len(rows) != 2 || rows[0].Group != "first" || rows[1].Group != "second" {
		t.Errorf("rows: %+v", rows)
	}
}

func TestWarnUnknown(t *testing.T) {
	t.Parallel()
	for full, want := range map[string]string{
		"PIBOX_MAX_RUNS":            "",
		"AICODEBOX_MAX_RUNS":        "",
		"PIBOX_API_MODE_TOKEN_FILE": "",
		"PIBOX_MAX_RUNS_FILE":       "PIBOX_MAX_RUNS_FILE is not a variable of this box and is ignored",
		"PIBOX_MAXRUNS":             "PIBOX_MAXRUNS is not a variable of this box and is ignored; did you mean PIBOX_MAX_RUNS?",
		"AICODEBOX_MAX_RNUS":        "AICODEBOX_MAX_RNUS is not a variable of this box and is ignored; did you mean AICODEBOX_MAX_RUNS?",
		"PIBOX_API_TOKEN":           "PIBOX_API_TOKEN is not a variable of this box and is ignored; did you mean PIBOX_API_MODE_TOKEN?",
		"PIBOX_TOKEN":               "PIBOX_TOKEN is not a variable of this box and is ignored; did you mean PIBOX_API_MODE_TOKEN?",
		"PIBOX_SOMETHING_ELSE":      "PIBOX_SOMETHING_ELSE is not a variable of this box and is ignored",
		"PIBOX_ENV_FOO":             "",
		"PIBOX_MOUNT_1":             "",
		"AICODEBOX_HOST_OS":         "",
		"PIBOX_DATA_DIR":            "",
		"PIBOX_TELEGRAM_MODE":       "",
		"OTHER_MAX_RNUS":            "",
	} {
		t.Run(full, func(t *testing.T) {
			t.Parallel()
			tab := table(map[string]string{full: "1"})
			tab.Int("MAX_RUNS", 1, 0, 9, "")
			tab.Secret("API_MODE_TOKEN", "")
			tab.WarnUnknown([]string{full + "=1", "PIBOX_EMPTY=", "nonsense"})
			var found []string
			for _, w := range tab.Warnings() {
				if strings.HasPrefix(w, full+" ") {
					found = append(found, w)
				}
			}
			var all []string
			if want != "" {
				all = []string{want}
			}
			if diff := cmp.Diff(all, found); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	tab := table(map[string]string{"PIBOX_API_MODE": "1", "AICODEBOX_API_MODE": "1", "PIBOX_X_MODE": "0", "PIBOX_API_MODE_PORT": "1"})
	environ := []string{"PIBOX_X_MODE=0", "PIBOX_API_MODE=1", "AICODEBOX_API_MODE=1", "PIBOX_API_MODE_PORT=1", "PIBOX_EMPTY_MODE=", "Y_MODE=1"}
	if diff := cmp.Diff([]string{"API", "X"}, tab.Flags(environ)); diff != "" {
		t.Error(diff)
	}
}
