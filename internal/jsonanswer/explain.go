package jsonanswer

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain turns the library's tree of errors about value into the violations
// to tell of: ordered by path, each once.
func explain(err *jsonschema.ValidationError, value any) []Leaf {
	x := explainer{value: value}
	leaves := x.leaves(err)
	slices.SortFunc(leaves, func(a, b Leaf) int {
		return cmp.Or(comparePaths(a.Path, b.Path), cmp.Compare(a.Want, b.Want))
	})
	return slices.Compact(leaves)
}

// comparePaths orders JSON pointers token by token, numbers by value.
func comparePaths(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	return slices.CompareFunc(as, bs, func(a, b string) int {
		i, errA := strconv.Atoi(a)
		j, errB := strconv.Atoi(b)
		if errA == nil && errB == nil {
			return cmp.Compare(i, j)
		}
		return cmp.Compare(a, b)
	})
}

// maxExplained bounds how many errors are looked at. Alternatives in each
// other can have very many.
const (
	maxExplained = 5000
	maxLevel     = 3 // how many alternatives in each other
)

// explainer finds what to tell about one value.
type explainer struct {
	value any
	seen  int // how many errors were looked at
	level int // how many alternatives are being looked into
}

// leaves returns the violations under err.
func (x *explainer) leaves(err *jsonschema.ValidationError) []Leaf {
	x.seen++
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return x.all(err.Causes)
	case *kind.AnyOf:
		return x.alternatives(err)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return x.alternatives(err)
		}
	case *kind.PropertyNames:
		return []Leaf{x.propertyName(err, k)}
	}
	return []Leaf{x.leaf(err)}
}

func (x *explainer) all(causes []*jsonschema.ValidationError) []Leaf {
	var leaves []Leaf
	for _, cause := range causes {
		if x.seen > maxExplained && len(leaves) > 0 {
			break
		}
		leaves = append(leaves, x.leaves(cause)...)
	}
	return leaves
}

// leaf tells of one error that has no causes worth telling.
func (x *explainer) leaf(err *jsonschema.ValidationError) Leaf {
	value, ok := x.at(err.InstanceLocation)
	want, got := expectation(err.ErrorKind)
	if got == "" && ok {
		got = describe(value)
	}
	return Leaf{Path: pointer(err.InstanceLocation), Want: want, Got: got}
}

// at returns the value at a path.
func (x *explainer) at(path []string) (any, bool) {
	value := x.value
	for _, token := range path {
		next, ok := member(value, escapeToken(token))
		if !ok {
			return nil, false
		}
		value = next
	}
	return value, true
}

// alternatives tells why no alternative fits. When all but one are for values
// of another kind, what is wrong by that one is told. Otherwise what each
// expects is.
func (x *explainer) alternatives(err *jsonschema.ValidationError) []Leaf {
	x.level++
	defer func() { x.level-- }()
	if x.seen > maxExplained || x.level > maxLevel {
		leaf := x.leaf(err)
		leaf.Want = "a value that fits one of the alternatives"
		return []Leaf{leaf}
	}
	path := pointer(err.InstanceLocation)
	var near []*jsonschema.ValidationError
	for _, cause := range err.Causes {
		if !otherKind(cause, len(err.InstanceLocation)) {
			near = append(near, cause)
		}
	}
	if len(near) == 1 {
		return x.leaves(near[0])
	}
	if best := x.fewest(near); len(best) > 0 && deeper(best, path) {
		return best
	}
	leaf := x.leaf(err)
	leaf.Want = "a value that fits one of the alternatives: " + x.wants(path, err.Causes)
	return []Leaf{leaf}
}

// fewest returns the violations by the alternative that has the fewest.
func (x *explainer) fewest(near []*jsonschema.ValidationError) []Leaf {
	var best []Leaf
	for _, cause := range near[:min(len(near), maxNames)] {
		if leaves := x.leaves(cause); best == nil || len(leaves) < len(best) {
			best = leaves
		}
	}
	return best
}

// wants lists what the alternatives expect, each once.
func (x *explainer) wants(path string, causes []*jsonschema.ValidationError) string {
	var wants []string
	for _, cause := range causes {
		if x.seen > maxExplained || len(wants) == maxNames {
			wants = append(wants, "and others")
			break
		}
		if want := summary(path, x.leaves(cause)); !slices.Contains(wants, want) {
			wants = append(wants, want)
		}
	}
	return strings.Join(wants, "; or ")
}

// otherKind tells whether an alternative is meant for another kind of value:
// the value's type is wrong for it, or a fixed value in it or in a property of
// it is.
func otherKind(err *jsonschema.ValidationError, depth int) bool {
	here := len(err.InstanceLocation) - depth
	if here > 1 {
		return false
	}
	switch k := err.ErrorKind.(type) {
	case *kind.Type, *kind.FalseSchema:
		return here == 0
	case *kind.Const, *kind.Enum:
		return true
	case *kind.Format:
		var fact *factError
		return errors.As(k.Err, &fact) && (!fact.isType || here == 0)
	case *kind.AnyOf, *kind.OneOf:
		return len(err.Causes) > 0 && !slices.ContainsFunc(err.Causes, func(e *jsonschema.ValidationError) bool {
			return !otherKind(e, depth)
		})
	}
	return slices.ContainsFunc(err.Causes, func(e *jsonschema.ValidationError) bool { return otherKind(e, depth) })
}

// deeper tells whether all leaves are about values inside the one at path.
func deeper(leaves []Leaf, path string) bool {
	return !slices.ContainsFunc(leaves, func(l Leaf) bool { return len(l.Path) <= len(path) })
}

// summary tells in a few words what an alternative expects of the value at
// path, or else of what is in it.
func summary(path string, leaves []Leaf) string {
	here := slices.DeleteFunc(slices.Clone(leaves), func(l Leaf) bool { return l.Path != path })
	if len(here) > 0 {
		leaves = here
	}
	var parts []string
	for i, l := range leaves {
		if i == 3 {
			parts = append(parts, "more")
			break
		}
		part := l.Want
		if l.Path != path {
			part += " at " + l.Path
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " and ")
}

// propertyName tells of a name that does not fit. The library may give the
// path of another value here, so the value is looked for if it has to be.
func (x *explainer) propertyName(err *jsonschema.ValidationError, k *kind.PropertyNames) Leaf {
	path := slices.Clone(err.InstanceLocation)
	if object, _ := x.at(path); !hasMember(object, k.Property) {
		path = findMember(x.value, k.Property)
	}
	var wants []string
	for _, cause := range err.Causes {
		want, _ := expectation(cause.ErrorKind)
		wants = append(wants, want)
	}
	want := "property names that are " + strings.Join(wants, " and ")
	return Leaf{Path: pointer(path), Want: want, Got: "the name " + quote(k.Property)}
}

func hasMember(value any, name string) bool {
	object, _ := value.(map[string]any)
	_, ok := object[name]
	return ok
}

// findMember returns the path of an object with a property of that name.
func findMember(value any, name string) []string {
	if hasMember(value, name) {
		return nil
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if path, ok := findInside(item, name); ok {
				return append([]string{strconv.Itoa(i)}, path...)
			}
		}
	case map[string]any:
		for _, key := range sorted(v) {
			if path, ok := findInside(v[key], name); ok {
				return append([]string{key}, path...)
			}
		}
	}
	return nil
}

func findInside(value any, name string) ([]string, bool) {
	path := findMember(value, name)
	return path, path != nil || hasMember(value, name)
}
