package jsonanswer

import "encoding/json"

// checkWeight refuses a schema that is too large once its references are
// followed, and one whose references lead back to themselves without ever
// looking at another value.
func (d *document) checkWeight() error {
	if err := d.checkLoops(); err != nil {
		return err
	}
	w := weigher{index: map[*node]int{}, low: map[*node]int{}, total: map[*node]int{}}
	if w.weigh(d.nodes[""]) > maxSchemaNodes {
		return &SchemaError{"", "it is too large: with its references followed it has more than 20000 values"}
	}
	return nil
}

// checkLoops looks for a way from a schema back to itself on which the value
// stays the same.
func (d *document) checkLoops() error {
	const (
		open = 1 + iota
		done
	)
	mark := map[*node]int{}
	var walk func(n *node) error
	walk = func(n *node) error {
		mark[n] = open
		for _, e := range n.edges {
			if e.role != inPlace || mark[e.to] == done {
				continue
			}
			if mark[e.to] == open {
				return &SchemaError{n.at, "a reference leads back to itself without end, through " + quote("#"+e.to.at)}
			}
			if err := walk(e.to); err != nil {
				return err
			}
		}
		mark[n] = done
		return nil
	}
	reachable := d.reachable()
	for _, n := range d.order {
		if mark[n] == done || !reachable[n] {
			continue
		}
		if err := walk(n); err != nil {
			return err
		}
	}
	return nil
}

// weigher counts the values of a schema with its references followed. Schemas
// that refer to each other in a circle count once, together (Tarjan's
// algorithm finds them).
type weigher struct {
	index, low, total map[*node]int
	stack             []*node
}

// weigh returns the count for n, or more than any schema may have.
func (w *weigher) weigh(n *node) int {
	w.index[n] = len(w.index) + 1
	w.low[n] = w.index[n]
	w.stack = append(w.stack, n)
	for _, e := range n.edges {
		if e.role == stored {
			continue
		}
		if w.index[e.to] == 0 {
			w.weigh(e.to)
		}
		if w.total[e.to] == 0 {
			w.low[n] = min(w.low[n], w.low[e.to])
		}
	}
	if w.low[n] == w.index[n] {
		w.sum(n)
	}
	return w.total[n]
}

// sum adds up the circle that was entered through n: itself, and all it leads
// to, as often as it leads there.
func (w *weigher) sum(n *node) {
	i := len(w.stack) - 1
	for w.stack[i] != n {
		i--
	}
	circle := w.stack[i:]
	w.stack = w.stack[:i]
	total := 0
	for _, m := range circle {
		total += m.own
		for _, e := range m.edges {
			if e.role != stored {
				total += w.total[e.to] // 0 within the circle
			}
		}
		total = min(total, maxSchemaNodes+1)
	}
	for _, m := range circle {
		w.total[m] = total
	}
}

// reachable returns the schemas that can take part in checking a value.
func (d *document) reachable() map[*node]bool {
	found := map[*node]bool{d.nodes[""]: true}
	queue := []*node{d.nodes[""]}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, e := range n.edges {
			if e.role != stored && !found[e.to] {
				found[e.to] = true
				queue = append(queue, e.to)
			}
		}
	}
	return found
}

// cost is what checking a value against a schema costs, beyond what the
// schemas under it account for themselves.
type cost struct {
	fixed     int // each time
	perMember int // for each member of the value
	numeric   int // computations with the value, if it is a number
}

// numericWords are the keywords for which the library computes with a number.
var numericWords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}

// cost returns what entering n costs. Schemas that only refer to another do
// not account for themselves.
func (n *node) cost() cost {
	c := cost{fixed: 1, perMember: 1}
	most := 0
	for _, e := range n.edges {
		switch links := e.to.links(); e.role {
		case inPlace:
			c.fixed += links
		case oneMember:
			most = max(most, links)
		case everyMember:
			c.perMember += links
		case stored:
		}
	}
	c.perMember += most
	for _, word := range numericWords {
		if _, ok := n.members[word]; ok {
			c.numeric++
		}
	}
	return c
}

// of returns what it costs to enter the schema with value.
func (c cost) of(value any) int {
	if number, ok := value.(json.Number); ok && c.numeric > 0 {
		return c.fixed + c.numeric*(1+numberWork(number.String()))
	}
	return c.fixed + members(value)*c.perMember
}

// links returns how long the chain of references is that begins with n.
func (n *node) links() int {
	if n.chain == 0 {
		n.chain = 1
		if n.refersOnly() {
			for _, e := range n.edges { // one at most, and never in a circle
				n.chain += e.to.links()
			}
		}
	}
	return n.chain - 1
}
