package jsonanswer

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCompileRefuses has schemas that are for their authors to mend, and what
// the error has to say.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema, path string
		says               string
	}{
		{"no JSON", `{"type":`, "", "line 1, column 9"},
		{"trailing comma", `{"type":"object",}`, "", "comma"},
		{"two values", `{} {}`, "", "nothing may follow"},
		{"key twice", `{"type":"object","type":"array"}`, "", `"type" is given twice`},
		{"array", `[]`, "", "a JSON object was expected"},
		{"null", `null`, "", "a JSON object was expected, got null"},
		{"false", `false`, "", "no answer"},
		{"empty", ``, "", "line 1"},
		{"unknown type", `{"properties":{"a":{"type":"strng"}}}`, "/properties/a/type", `"string"`},
		{"wrong keyword", `{"properties":{"a":{"minLength":"x"}}}`, "/properties/a/minLength", "expected integer"},
		{"negative size", `{"minItems":-1}`, "/minItems", "at least 0"},
		{"wrong enum", `{"enum":"x"}`, "/enum", "array"},
		{"wrong uniqueItems", `{"uniqueItems":"yes"}`, "/uniqueItems", "boolean"},
		{"required is no list", `{"required":"a"}`, "/required", "array"},
		{"unknown $schema", `{"$schema":"https://example.com/mine"}`, "/$schema", "2020-12"},
		{"old $schema", `{"$schema":"http://json-schema.org/draft-04/schema#"}`, "/$schema", "draft-07"},
		{"$schema is no string", `{"$schema":7}`, "/$schema", "7 is not known"},
		{"array items in 2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}`, "/items", "expected"},
		{"remote", `{"$ref":"http://127.0.0.1:9/none.json"}`, "/$ref", "nothing is ever fetched"},
		{"remote, deep", `{"properties":{"a":{"items":{"$ref":"https://example.com/x#/y"}}}}`, "/properties/a/items/$ref", "nothing is ever fetched"},
		{"file", `{"$ref":"file:///etc/passwd"}`, "/$ref", "nothing is ever fetched"},
		{"relative file", `{"$ref":"other.json"}`, "/$ref", "nothing is ever fetched"},
		{"meta-schema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "/$ref", "nothing is ever fetched"},
		{"dangling", `{"$ref":"#/$defs/nope"}`, "/$ref", "not in the schema"},
		{"dangling anchor", `{"$ref":"#nope"}`, "/$ref", "anchor"},
		{"into an enum", `{"properties":{"a":{"$ref":"#/enum/0"}},"enum":[{"type":"string"},{"a":1}]}`, "/properties/a/$ref", "no schema"},
		{"itself", `{"$ref":"#"}`, "", "without end"},
		{"each other", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, "/$defs/b/allOf/0", "without end"},
		{"itself in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","anyOf":[{"$ref":"#"},{}]}`, "/anyOf/0", "without end"},
		{"look-ahead", `{"properties":{"a":{"pattern":"^(?=x)"}}}`, "/properties/a/pattern", "look-around"},
		{"look-ahead in a name", `{"patternProperties":{"(?!x)":{}}}`, "/patternProperties/(?!x)", "look-around"},
		{"monstrous pattern", `{"pattern":"((a{100}){100}){100}"}`, "/pattern", "cannot be used"},
		{"large patterns", `{"allOf":[` + numbered(`{"pattern":"(.{99}){10}%d"}`, 200) + `]}`, "/allOf/98/pattern", "too large together"},
		{"number beyond reason", `{"minimum":1e999999999}`, "", "exponent"},
		{"large", `{"description":"` + strings.Repeat("x", 1<<20) + `"}`, "", "1 MiB"},
		{"many values", `{"enum":[` + numbered("%d", 20_000) + `]}`, "", "20000 values"},
		{"deep", strings.Repeat(`{"not":`, 300) + "true" + strings.Repeat("}", 300), "", "200 levels"},
		{"doubling", doubling(`{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`), "", "20000"},
		{"doubling in properties", doubling(`{"properties":{"l":{"$ref":"#/$defs/a%d"},"r":{"$ref":"#/$defs/a%d"}}}`), "", "20000"},
		{"doubling in draft-07", strings.Replace(doubling(`{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`), "{", `{"$schema":"http://json-schema.org/draft-07/schema#",`, 1), "", "20000"},
		{"same $id", `{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, "", "$id"},
		{"same anchor", `{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "", "anchor"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := Compile([]byte(test.schema))
			var bad *SchemaError
			if !errors.As(err, &bad) {
				t.Fatalf("got %v, want a SchemaError", err)
			}
			if test.path != "" && bad.Path != test.path {
				t.Errorf("path %q, want %q (%v)", bad.Path, test.path, err)
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v\nwant it to say %q", err, test.says)
			}
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// numbered writes n numbered pieces with commas between them.
func numbered(format string, n int) string {
	pieces := make([]string, n)
	for i := range pieces {
		pieces[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(pieces, ",")
}

// doubling writes a chain of definitions of which each refers to the next
// twice.
func doubling(format string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"a%d":`+format+",", i, i+1, i+1)
	}
	return b.String() + `"a40":{"type":"string"}}}`
}

// TestCompileAccepts has schemas that look like refused ones, with answers
// that satisfy them and answers that do not.
func TestCompileAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, schema string
		valid        []string
		invalid      []string
	}{
		{"true", `true`, []string{`1`, `{}`}, nil},
		{
			"a list of itself", `{"properties":{"next":{"$ref":"#"}},"required":["v"]}`,
			[]string{`{"v":1,"next":{"v":2}}`},
			[]string{`{"v":1,"next":{}}`},
		},
		{"large sizes", `{"maxLength":1e30,"maxItems":99999999999999999999}`, []string{`"x"`, `[1]`}, nil},
		{"type list", `{"type":["string","null"]}`, []string{`"x"`, `null`}, []string{`1`}},
		{
			"$schema with fragment", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`,
			[]string{`["x",1]`},
			[]string{`[1]`},
		},
		{
			"draft-07 over https", `{"$schema":"https://json-schema.org/draft-07/schema","dependencies":{"a":["b"]}}`,
			[]string{`{"a":1,"b":1}`},
			[]string{`{"a":1}`},
		},
		{
			"draft-07 ignores siblings of $ref", `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","type":"string","definitions":{"a":{"type":"integer"}}}`,
			[]string{`1`},
			[]string{`"x"`},
		},
		{
			"siblings of $ref count elsewhere", `{"$ref":"#/definitions/a","minimum":5,"definitions":{"a":{"type":"integer"}}}`,
			[]string{`5`},
			[]string{`1`, `"x"`},
		},
		{
			"draft-07 anchors", `{"items":{"$ref":"#n"},"definitions":{"x":{"$id":"#n","type":"integer"}}}`,
			[]string{`[1]`},
			[]string{`["x"]`},
		},
		{
			"references into moved items", `{"properties":{"a":{"items":[{"type":"integer"},true],"additionalItems":{"type":"null"}},"b":{"$ref":"#/properties/a/items/0"},"c":{"$ref":"#/properties/a/additionalItems"}}}`,
			[]string{`{"a":[1,2,null],"b":1,"c":null}`},
			[]string{`{"b":"x"}`, `{"c":1}`, `{"a":[1,2,3]}`},
		},
		{
			"definitions elsewhere", `{"$ref":"#/components/schemas/A","components":{"schemas":{"A":{"type":"integer","uniqueItems":false}}}}`,
			[]string{`1`},
			[]string{`"x"`},
		},
		{
			"an enum that looks like a schema", `{"enum":[{"type":"string","format":"x"}]}`,
			[]string{`{"type":"string","format":"x"}`},
			[]string{`{"type":"string"}`},
		},
		{"ECMA escapes in patterns", `{"pattern":"^[\\u00e0-\\u00ff\\cA]+\\/$"}`, []string{`"é/"`, `"\u0001/"`}, []string{`"e/"`}},
		{
			"unique items", `{"uniqueItems":true,"allOf":[true]}`,
			[]string{`[1,"1",[1],{"a":1},null,true]`},
			[]string{`[{"a":1,"b":[]},{"b":[],"a":1.0}]`, `["x","x"]`, `[10,1e1]`, `[0,-0]`, `[0.0,0]`},
		},
		{
			"unique items in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","items":{"uniqueItems":true}}`,
			[]string{`[[1,2]]`},
			[]string{`[[1,1]]`},
		},
		{"many circles", circles(12), []string{`{"p1":{"p2":{}}}`}, []string{`{"p1":{"p2":1}}`}},
		{
			"dynamic references", `{"$id":"tree","$dynamicAnchor":"node","type":"object","properties":{"kids":{"items":{"$dynamicRef":"#node"}}}}`,
			[]string{`{"kids":[{"kids":[]}]}`},
			[]string{`{"kids":[1]}`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := mustCompile(t, test.schema)
			for _, value := range test.valid {
				if err := s.Validate([]byte(value)); err != nil {
					t.Errorf("%s: %v", value, err)
				}
			}
			for _, value := range test.invalid {
				if err := s.Validate([]byte(value)); err == nil {
					t.Errorf("%s is accepted", value)
				}
			}
		})
	}
}

// circles writes n definitions that all refer to all of them.
func circles(n int) string {
	var defs []string
	for i := range n {
		var props []string
		for j := range n {
			props = append(props, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d%d"}`, j, j))
		}
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{%s}}`, i, strings.Join(props, ",")))
	}
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

// TestValidateIsStrict shows that Validate mends nothing.
func TestValidateIsStrict(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{}`)
	var parse *ParseError
	for _, value := range []string{``, `{"a":1,}`, "\ufeff{}", `{} x`, `{"a":NaN}`, `{"a":1,"a":1}`, "```\n{}\n```"} {
		if err := s.Validate([]byte(value)); !errors.As(err, &parse) {
			t.Errorf("Validate(%q) = %v, want a ParseError", value, err)
		}
	}
}

// TestValidationIsBounded has small schemas and answers that would take
// exponential or quadratic time.
func TestValidationIsBounded(t *testing.T) {
	t.Parallel()
	nested := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	variants := `{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[` +
		`{"properties":{"l":{"$ref":"#/$defs/n"}},"required":["x"]},{"properties":{"l":{"$ref":"#/$defs/n"}},"required":["y"]}]}}}`
	marked := `{"$ref":"#/$defs/n","$defs":{"n":{"oneOf":[` +
		`{"properties":{"k":{"const":"a"},"l":{"$ref":"#/$defs/n"}},"required":["k"]},` +
		`{"properties":{"k":{"const":"b"},"l":{"$ref":"#/$defs/n"}},"required":["k"]}]}}}`
	inNot := `{"not":{"$ref":"#/$defs/n"},"$defs":{"n":{"items":{"$ref":"#/$defs/n"},"contains":{"$ref":"#/$defs/n"},"type":"array"}}}`
	tests := []struct{ name, schema, answer, says string }{
		{"alternatives in each other", variants, nested(`{"l":`, `{}`, `}`, 60), "at the top level"},
		{"alternatives told apart by a mark", marked, nested(`{"k":"b","l":`, `{"k":"b","l":{}}`, `}`, 60), `"k"`},
		{"under not", inNot, nested(`[`, `1`, `]`, 60), "reasonable effort"},
		{"equal hashes", `{"uniqueItems":true}`, `[` + colliding(13) + `,0,0]`, "equal items"},
		{"expensive numbers", `{"items":{"multipleOf":3}}`, `[` + strings.Repeat("1e-1000,", 50_000) + `1]`, "reasonable effort"},
		{"a large pattern on a long text", `{"pattern":"^(a|b|c)*[a-z]{900}$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, "reasonable effort"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			err := mustCompile(t, test.schema).Validate([]byte(test.answer))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// colliding writes 2^n arrays of strings whose strings, one after the other
// with a separator, are the same text.
func colliding(n int) string {
	var arrays []string
	for i := range 1 << n {
		var b strings.Builder
		b.WriteString(`["x`)
		for bit := range n {
			if i>>bit&1 == 0 {
				b.WriteString(`","x`)
			} else {
				b.WriteString(`\u0004x`)
			}
		}
		arrays = append(arrays, b.String()+`"]`)
	}
	return strings.Join(arrays, ",")
}

// TestDeepAnswers shows that no nesting overflows the stack.
func TestDeepAnswers(t *testing.T) {
	t.Parallel()
	tree := mustCompile(t, `{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/n"}}]}}}`)
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if err := tree.Validate([]byte(deep)); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
	wrong := strings.Repeat("[", 5000) + "1" + strings.Repeat("]", 5000)
	var invalid *ValidationError
	if err := tree.Validate([]byte(wrong)); !errors.As(err, &invalid) {
		t.Errorf("a wrong value 5000 levels down: got %v", err)
	}
	if _, err := Read(strings.Repeat("[", maxOpen+1), tree); err == nil {
		t.Error("a million open arrays are read")
	}
}

// TestSchemaConcurrently uses schemas from many goroutines.
func TestSchemaConcurrently(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 20 {
				schema := fmt.Sprintf(`{"properties":{"a":{"type":"integer","maximum":%d}}}`, j)
				s, err := Compile([]byte(schema))
				if err != nil {
					t.Error(err)
					return
				}
				value := fmt.Sprintf(`{"a":%d}`, i)
				if _, err := Read(value, s); (err == nil) != (i <= j) {
					t.Errorf("%s against %s: %v", value, schema, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestErrorPaths has names that do not fit in many places at a time.
func TestErrorPaths(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"additionalProperties":{"additionalProperties":{"propertyNames":{"maxLength":1}}}}`)
	var invalid *ValidationError
	err := s.Validate([]byte(`{"a":{"b":{"bad1":1},"c":{"d":1,"bad2":1}},"e":{"f":{},"g":{"bad3":1}},"h":{"i":{"j":1}}}`))
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want a ValidationError", err)
	}
	var got []string
	for _, leaf := range invalid.Leaves {
		got = append(got, leaf.Path+" "+leaf.Got)
	}
	want := []string{`/a/b the name "bad1"`, `/a/c the name "bad2"`, `/e/g the name "bad3"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// TestExpectations has a violation of every keyword and what is said of it.
func TestExpectations(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, value, says string }{
		{`{"const":{"a":1}}`, `{"a":2}`, `expected the value {"a":1}, got an object with the property "a"`},
		{`{"enum":["` + strings.Repeat("long", 30) + `",` + numbered(`"value %d"`, 100) + `]}`, `"x"`, " more, got"},
		{`{"properties":{"a":false}}`, `{"a":1}`, "at /a: expected nothing here"},
		{`{"not":{"type":"null"}}`, `null`, `the schema under "not" refuses, got null`},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, "exactly one"},
		{`{"minProperties":2}`, `{"a":1}`, "at least 2 properties, got 1"},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, "at most 1 property, got 2"},
		{`{"dependentRequired":{"a":["b","c"]}}`, `{"a":1}`, `the properties "b", "c", needed where "a" is`},
		{`{"dependencies":{"a":["b"]}}`, `{"a":1}`, `the property "b", needed where "a" is`},
		{`{"minItems":2}`, `[1]`, "at least 2 items, got 1"},
		{`{"maxItems":1}`, `[1,2]`, "at most 1 item, got 2"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[true],"additionalItems":false}`, `[1,2]`, "no further items, got 1 item too many"},
		{`{"contains":{"type":"null"}}`, `[1]`, `an item that fits the schema under "contains", got none`},
		{`{"contains":{"type":"null"},"minContains":2}`, `[null]`, "at least 2 items"},
		{`{"contains":{"type":"null"},"maxContains":1}`, `[null,null]`, "at most 1 item"},
		{`{"minLength":3}`, `"é"`, "at least 3 characters, got 1"},
		{`{"maxLength":1}`, `"ab"`, "at most 1 character, got 2"},
		{`{"pattern":"^a+$"}`, `"b"`, `a string that matches the pattern "^a+$", got the string "b"`},
		{`{"minimum":0.1}`, `0.05`, "at least 0.1, got the number 0.05"},
		{`{"maximum":123456789012345678901}`, `123456789012345678902`, "at most 123456789012345678901, got the number 123456789012345678902"},
		{`{"exclusiveMinimum":1}`, `1`, "greater than 1"},
		{`{"exclusiveMaximum":1}`, `1.0`, "less than 1"},
		{`{"multipleOf":0.05}`, `0.07`, "a multiple of 0.05"},
		{`{"anyOf":[` + numbered(`{"const":%d}`, 40) + `]}`, `41`, "and others"},
		{`{"anyOf":[{"properties":{"a":{"properties":{"b":{"minimum":1}}}},"required":["a"]},{"required":["c"],"type":"string"}]}`, `{"a":{"b":0}}`, "at /a/b: expected a number of at least 1"},
	}
	for _, test := range tests {
		err := mustCompile(t, test.schema).Validate([]byte(test.value))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s against %s: got %v\nwant it to say %q", test.value, test.schema, err, test.says)
		}
	}
}

// TestNoLoader shows that the loader behind everything loads nothing.
func TestNoLoader(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"file:///etc/passwd", "http://127.0.0.1:9/x", "schema.json", "urn:x"} {
		if doc, err := (noLoader{}).Load(uri); err == nil || doc != nil {
			t.Errorf("Load(%q) = %v, %v; want an error", uri, doc, err)
		}
	}
}
