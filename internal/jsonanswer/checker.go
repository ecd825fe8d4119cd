package jsonanswer

import (
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// probeURI names a schema that is satisfied by what the real one refuses.
const probeURI = "answer://schema/probe"

// checker is a compiled schema. It is used by one goroutine at a time.
type checker struct {
	schema *jsonschema.Schema
	probe  *jsonschema.Schema
	budget budget
}

// errWork tells that the budget was used up.
var errWork = errors.New("checking the answer against the schema takes too much work")

// loader supplies documents that references lead to.
type loader interface {
	Load(uri string) (any, error)
}

// noLoader refuses every document: nothing is ever read or fetched.
type noLoader struct{}

func (noLoader) Load(uri string) (any, error) {
	return nil, &SchemaError{"", quote(uri) + " is another document, and nothing is ever fetched"}
}

// newChecker compiles the schema in d, which it changes: into every schema
// goes a format of our own, through which the library reports what it does.
// Formats of the schema's author are annotations, as both drafts have it.
func newChecker(d *document, remote loader) (*checker, error) {
	c := &checker{}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if d.nodes[""].draft == draft7 {
		compiler.DefaultDraft(jsonschema.Draft7)
	}
	compiler.AssertFormat()
	compiler.UseLoader(remote)
	regexps := &patterns{budget: &c.budget, known: map[string]*pattern{}}
	compiler.UseRegexpEngine(regexps.compile)
	costs := make([]cost, len(d.order)) // before anything is changed
	for i, n := range d.order {
		costs[i] = n.cost()
	}
	d.prepare()
	for i, n := range d.order {
		c.instrument(compiler, n, costs[i], "schema "+strconv.Itoa(i))
	}
	compiler.RegisterFormat(&jsonschema.Format{Name: uniqueFormat, Validate: c.unique})
	if err := c.compile(compiler, d.root); err != nil {
		return nil, compileError(err, d.root)
	}
	return c, nil
}

func (c *checker) compile(compiler *jsonschema.Compiler, root any) error {
	probe := map[string]any{"not": map[string]any{"$ref": rootURI}}
	if err := errors.Join(compiler.AddResource(rootURI, root), compiler.AddResource(probeURI, probe)); err != nil {
		return err
	}
	var err error
	if c.schema, err = compiler.Compile(rootURI); err != nil {
		return err
	}
	c.probe, err = compiler.Compile(probeURI)
	return err
}

// failureWork is what it costs to keep an error.
const failureWork = 4

// instrument makes the schema n account for its work, and checks its facts.
func (c *checker) instrument(compiler *jsonschema.Compiler, n *node, price cost, name string) {
	if !n.checked {
		return
	}
	n.members["format"] = name
	compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(value any) error {
		c.budget.spend(price.of(value))
		work, err := n.facts.check(value)
		if err != nil {
			work += failureWork
		}
		c.budget.spend(work)
		return err
	}})
}

// prepare takes out of every schema what is checked here.
func (d *document) prepare() {
	for _, n := range d.order {
		if n.checked = n.takesFormat(); n.checked {
			n.clampSizes()
			n.takeUnique()
			n.takeFacts()
		}
	}
	d.markAlternatives()
	for _, n := range d.order {
		n.takeMarks()
	}
}

// takesFormat tells whether a format can be put into n.
func (n *node) takesFormat() bool {
	format, ok := n.members["format"]
	_, valid := format.(string)
	return len(n.members) > 0 && !n.refersOnly() && (!ok || valid)
}

// members counts the members of an array or object.
func members(value any) int {
	switch v := value.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// maxSize is what larger sizes in a schema are taken for.
const maxSize = 1 << 40

// clampSizes keeps the sizes in n within what the library's int holds.
func (n *node) clampSizes() {
	most := big.NewRat(maxSize, 1)
	for _, word := range sizes {
		number, ok := n.members[word].(json.Number)
		if !ok {
			continue
		}
		if r, ok := new(big.Rat).SetString(number.String()); ok && r.IsInt() && r.Cmp(most) > 0 {
			n.members[word] = json.Number(strconv.Itoa(maxSize))
		}
	}
}

// takeUnique replaces uniqueItems by a format of ours. The library would take
// quadratic time for some arrays.
func (n *node) takeUnique() {
	if unique, _ := n.members["uniqueItems"].(bool); !unique {
		return
	}
	all, ok := n.members["allOf"].([]any)
	if _, has := n.members["allOf"]; has && !ok {
		return // the meta-schema refuses it
	}
	delete(n.members, "uniqueItems")
	n.members["allOf"] = append(slices.Clip(all), map[string]any{"format": uniqueFormat})
}

// satisfied tells whether value satisfies the schema. It asks for the
// opposite, since then the library keeps no account of errors, which can take
// far more memory than the value.
func (c *checker) satisfied(value any) (bool, error) {
	err := c.check(c.probe, value)
	if errors.Is(err, errWork) {
		return false, err
	}
	return err != nil, nil
}

// check returns what is wrong with value: nil, the library's error, or
// errWork.
func (c *checker) check(schema *jsonschema.Schema, value any) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case exhausted:
			err = errWork
		default:
			panic(p)
		}
	}()
	return schema.Validate(value)
}
