package jsonanswer

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// mustCompile readies a schema.
func mustCompile(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := Compile([]byte(schema))
	if err != nil {
		t.Fatalf("Compile(%s): %v", schema, err)
	}
	return s
}

// reads checks that text is read as want.
func reads(t *testing.T, s *Schema, text, want string, sent ...string) Answer {
	t.Helper()
	got, err := Read(text, s, sent...)
	if err != nil {
		t.Errorf("Read(%q): %v", text, err)
	} else if string(got.JSON) != want {
		t.Errorf("Read(%q) = %s, want %s", text, got.JSON, want)
	}
	return got
}

const ticks = "```"

func TestCase_J01(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"type":"object","required":["note","n"]}`)
	value := `{"note":"wrap it in ` + ticks + ` go please","n":1}`
	for _, text := range []string{
		ticks + "json\n" + value + "\n" + ticks,
		"`" + ticks + "json\n" + value + "\n`" + ticks,
		ticks + "json\n" + value,
		ticks + "json\n" + value + "\n\nThat is it. " + ticks,
	} {
		reads(t, s, text, value)
	}
}

func TestCase_J02(t *testing.T) {
	t.Parallel()
	want := `{"ok":true,"text":"a } b { c \" d","list":[[1],[2]]}`
	reads(t, mustCompile(t, `{"type":"object"}`), `Template {title} filled. `+want+` That's it :}`, want)
}

func TestCase_J03(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"type":"object"}`)
	got := reads(t, s, `{"tags":["keep, ]","b",],"n":1,}`, `{"tags":["keep, ]","b"],"n":1}`)
	if !got.Repaired {
		t.Error("the dropped commas are not told of")
	}
	if got = reads(t, s, `{"tags":["keep, ]","b"],"n":1}`, `{"tags":["keep, ]","b"],"n":1}`); got.Repaired {
		t.Error("an answer that needed no repair counts as repaired")
	}
	for _, text := range []string{`{'n':1}`, `{n:1}`, `{"n":1`, `{"n":1 "m":2}`, `{"n":tru}`, `{"n":1,,}`} {
		if got, err := Read(text, s); err == nil {
			t.Errorf("Read(%q) = %s, want an error: only trailing commas are repaired", text, got.JSON)
		}
	}
}

func TestCase_J04(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, "\ufeff"+`{"type":"object","properties":{"status":{"type":"string"}}}`)
	reads(t, s, "\xef\xbb\xbf"+`{"status":"ok"}`, `{"status":"ok"}`)
	reads(t, s, "{\"status\":\"o\ufeffk\"}", "{\"status\":\"o\ufeffk\"}")
}

func TestCase_J05(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"type":"object","properties":{"id":{"type":"integer"},"big":{"type":"integer"}},"required":["id","big","f"]}`)
	text := `{"id":9007199254740993,"big":123456789012345678901234567890,"f":1.10}`
	reads(t, s, text, text)
}

func TestCase_J08(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"summary":{"type":"string"},"score":{"type":"number"}},"required":["summary","score"]}`
	s := mustCompile(t, schema)
	example := ticks + "json\n" + `{"summary":"an example","score":1}` + "\n" + ticks
	sent := "Summarise this text. For example:\n\n" + example + "\n\n" + Prompt([]byte(schema))
	want := `{"summary":"fine","score":3}`
	reads(t, s, sent+"\n"+want, want, sent)
	reads(t, s, sent+"\n\n"+`{"summary":"draft","score":1}`+"\nNo: "+want, want, sent)
	reads(t, s, "The schema is "+schema+". "+want+" satisfies "+schema, want, sent)
	for _, text := range []string{sent, sent + "\n" + `{"summary":"fine"}`} {
		if got, err := Read(text, s, sent); err == nil {
			t.Errorf("%s was taken for the answer", got.JSON)
		}
	}
}

// TestDefect_07 has an agent's answers that a search for the first brace gets
// wrong.
func TestDefect_07(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)
	reads(t, s, `first {"b":1} then {"a":2}`, `{"a":2}`)
	reads(t, s, `use {braces} like so: {"a":3}`, `{"a":3}`)
	reads(t, mustCompile(t, `{"type":"null"}`), `null`, `null`)
	var invalid *ValidationError
	if _, err := Read(`[{"a":1},{"a":2}]`, nil); !errors.As(err, &invalid) {
		t.Errorf("an array for an object: got %v, want a ValidationError", err)
	}
	var parse *ParseError
	if _, err := Read(`{"a":NaN}`, mustCompile(t, `{"type":"object"}`)); !errors.As(err, &parse) {
		t.Errorf("NaN: got %v, want a ParseError", err)
	}
}

// TestDefect_16 has texts made of what begins a value or a fence. The bound is
// far above what they take, and far below what a quadratic search would.
func TestDefect_16(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"type":"object","required":["a"]}`)
	for _, unit := range []string{
		"{", "[", "`", ticks + "\n", "~~~\n", `{"a":`, `{"`, `["`, `[1,`, `[1 `, `{"a":x} `, "{'a':", "{}", "{}\n", "{\"a\":1 b\n",
		"\n", ">\n", `\`, `{"\"`, "[[1],", "{[", "\xff", "```\n{}\n```\n",
	} {
		text := strings.Repeat(unit, 256<<10/len(unit))
		start := time.Now()
		if got, err := Read(text, s); err == nil {
			t.Errorf("%q over and over is read as %s", unit, shorten(string(got.JSON)))
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%q over and over takes %v", unit, took)
		}
	}
}
