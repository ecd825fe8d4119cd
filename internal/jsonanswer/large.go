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
)

// Bounds up to which all errors of an answer are gathered at a time. That
// takes memory for each error and, in each, for each level above it.
const (
	gatheredValues = 200_000
	gatheredLevels = 10_000_000 // values times levels
	gatheringWork  = 500_000
	gatheringDepth = 16 // at which the work counts double
)

// explain finds what is wrong with a value that does not satisfy the schema.
func (c *checker) explain(value any, d *decoder) error {
	if d.values <= gatheredValues && d.values*d.deep <= gatheredLevels {
		c.budget.left = gatheringWork / (1 + d.deep/gatheringDepth)
		if found := validationError(c.check(c.schema, value), value); found != nil {
			return found
		}
	}
	return c.explainPart(value)
}

// sampleDepths are the depths to which copies go: less deep where deeper ones
// take too much work.
var sampleDepths = [...]int{50, 8, 2}

// explainPart finds errors of value, which has some, in copies of a part of
// it.
func (c *checker) explainPart(value any) error {
	for _, depth := range sampleDepths {
		found, err := c.explainTo(value, depth)
		if found != nil {
			return found
		}
		if err == nil {
			break
		}
	}
	return vagueError(value)
}

// explainTo finds errors in copies to a depth that hold the start of each
// array and a window that moves on. The error is errWork or nil.
func (c *checker) explainTo(value any, depth int) (*ValidationError, error) {
	c.budget.left = gatheringWork / (1 + depth/gatheringDepth)
	for from, longest := sampleHead, sampleHead+1; from < longest; from += sampleWindow {
		s := sampler{left: sampleValues, depth: depth, from: from, cut: map[string]bool{}}
		part := s.copy(value, nil)
		longest = s.longest
		err := c.check(c.schema, part)
		if errors.Is(err, errWork) {
			return nil, err
		}
		found := validationError(err, part)
		if found == nil {
			continue
		}
		found.Leaves = slices.DeleteFunc(found.Leaves, func(l Leaf) bool { return s.cut[l.Path] })
		if len(found.Leaves) > 0 {
			s.restore(found, value)
			return found, nil
		}
	}
	return nil, nil
}

// sampler copies a value without most of its long arrays and objects and
// without what is nested deep.
type sampler struct {
	left    int
	depth   int
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
	if len(path) >= s.depth {
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
