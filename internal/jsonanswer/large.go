package jsonanswer

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Bounds on the part of a large answer whose errors are told at a time.
const (
	sampleHead   = 100 // items from the start of each array
	sampleWindow = 400 // items from further in
	sampleValues = 20_000
	sampleDepth  = 100
)

// checkLarge checks a value so large that an account of all its errors would
// take too much memory. First it is only asked whether there are any. If so,
// they are looked for in smaller copies.
func (c *checker) checkLarge(value any) error {
	err := c.check(c.probe, value)
	if err == nil { // the opposite of the schema is satisfied
		return c.explainLarge(value)
	}
	if errors.Is(err, errWork) {
		return workError(err)
	}
	return nil
}

// explainLarge finds errors of value, which has some, in copies that hold the
// start of each array and a window that moves on.
func (c *checker) explainLarge(value any) error {
	c.budget.left = max(c.budget.left, budgetBase)
	for from, longest := sampleHead, sampleHead+1; from < longest; from += sampleWindow {
		s := sampler{left: sampleValues, from: from, cut: map[string]bool{}}
		part := s.copy(value, nil)
		longest = s.longest
		err := c.check(c.schema, part)
		if errors.Is(err, errWork) {
			break
		}
		found, _ := validationError(err, part).(*ValidationError)
		if found == nil {
			continue
		}
		found.Leaves = slices.DeleteFunc(found.Leaves, func(l Leaf) bool { return s.cut[l.Path] })
		if len(found.Leaves) > 0 {
			s.restore(found, value)
			return found
		}
	}
	return &ValidationError{Leaves: []Leaf{{
		Want: "a value that satisfies the schema in all its parts",
		Got:  "a large one that does not",
	}}}
}

// sampler copies a value without most of its long arrays and objects and
// without what is nested deep.
type sampler struct {
	left    int
	from    int             // where the window of each array begins
	longest int             // how long the longest array is
	cut     map[string]bool // pointers, in the copy, to what lacks something
}

func (s *sampler) copy(value any, path []string) any {
	s.left--
	switch v := value.(type) {
	case []any:
		s.longest = max(s.longest, len(v))
		return s.copyArray(v, path)
	case map[string]any:
		return s.copyObject(v, path)
	}
	return value
}

// room returns how many of n members can be copied.
func (s *sampler) room(n int, path []string) int {
	if len(path) >= sampleDepth {
		return 0
	}
	return min(n, sampleHead+sampleWindow, max(s.left, 0))
}

func (s *sampler) copyArray(items []any, path []string) any {
	room := s.room(len(items), path)
	part := make([]any, 0, room)
	for len(part) < room {
		i := s.index(len(part))
		if i >= len(items) {
			break
		}
		part = append(part, s.copy(items[i], append(path, strconv.Itoa(len(part)))))
	}
	s.note(len(part) < len(items), path)
	return part
}

// index returns where the item i of a copied array stands in the array.
func (s *sampler) index(i int) int {
	if i < sampleHead {
		return i
	}
	return i - sampleHead + s.from
}

func (s *sampler) copyObject(object map[string]any, path []string) any {
	names := sorted(object)
	room := s.room(len(names), path)
	part := make(map[string]any, room)
	for _, name := range names[:room] {
		part[name] = s.copy(object[name], append(path, name))
	}
	s.note(room < len(names), path)
	return part
}

func (s *sampler) note(cut bool, path []string) {
	if cut {
		s.cut[pointer(path)] = true
	}
}

// restore gives the errors found in a copy the paths they have in value.
func (s *sampler) restore(found *ValidationError, value any) {
	found.More = 0 // there may be others in what was left out
	for i, leaf := range found.Leaves {
		at := value
		tokens := strings.Split(leaf.Path, "/")
		for j := 1; j < len(tokens); j++ {
			if _, ok := at.([]any); ok {
				n, _ := strconv.Atoi(tokens[j]) // an index, or 0 would do
				tokens[j] = strconv.Itoa(s.index(n))
			}
			at, _ = member(at, tokens[j])
		}
		found.Leaves[i].Path = strings.Join(tokens, "/")
	}
}
