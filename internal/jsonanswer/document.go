package jsonanswer

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds on a schema. The library that compiles it is quadratic in some of
// them, and keeps the full pointer of every schema inside it.
const (
	maxSchemaBytes  = 1 << 20
	maxSchemaNodes  = 20_000
	maxSchemaDepth  = 200
	maxPointerBytes = 8 << 20
	maxIDs          = 1000
	maxStrange      = 200
)

// rootURI stands for the schema where it names no $id of its own.
const rootURI = "answer://schema/root"

// document is a schema taken apart: each schema in it by its pointer, and what
// refers to what.
type document struct {
	root    any
	nodes   map[string]*node
	order   []*node // in the order in which they were found
	ids     map[string]*resource
	pending []reference

	open         bool // references may lead out of the document
	pointerBytes int
	strange      int // references to where no keyword would put a schema
	regexpSize   int
}

// resource is a part of a document with a URI of its own.
type resource struct {
	uri     *url.URL
	at      string
	anchors map[string]string // pointers by name
}

// node is one schema.
type node struct {
	at      string // its JSON pointer
	members map[string]any
	draft   draft
	lenient bool // no $schema: draft-07 spellings are understood
	moved   bool // an array under items was moved to prefixItems
	res     *resource
	own     int // JSON values in it, without the schemas in it
	edges   []edge
	chain   int // see links
	facts   facts
	checked bool // the facts are checked here
	among   bool // it is one of several alternatives
}

// edge leads from a schema to one that it has checked.
type edge struct {
	to   *node
	role role
	word string // the keyword
}

// refersOnly tells whether all but the reference is ignored, as draft-07 does.
func (n *node) refersOnly() bool {
	_, ok := n.members["$ref"].(string)
	return ok && n.draft == draft7
}

// readDocument takes schema apart. With open, references may lead out of it.
func readDocument(schema []byte, open bool) (*document, error) {
	if len(schema) > maxSchemaBytes {
		return nil, &SchemaError{"", "it is larger than 1 MiB"}
	}
	root, err := decodeSchema(string(bytes.TrimPrefix(schema, []byte(bom))))
	if err != nil {
		return nil, err
	}
	d := &document{root: root, nodes: map[string]*node{}, ids: map[string]*resource{}, open: open}
	uri, err := url.Parse(rootURI)
	if err != nil {
		return nil, err
	}
	members, _ := root.(map[string]any)
	_, named := members["$schema"]
	top := node{draft: draft2020, lenient: !named, res: d.addResource(uri, "")}
	if _, err := d.visit("", root, &top); err != nil {
		return nil, err
	}
	return d, d.follow()
}

// decodeSchema reads a schema's JSON.
func decodeSchema(text string) (any, error) {
	whole, f := scanWhole(text, span{0, len(text)})
	var root any
	if f == nil {
		if _, repaired := compact(text); repaired {
			f = &fault{at: whole.end, reason: "a comma stands before a closing bracket"}
		}
	}
	if f == nil {
		root, _, f = decode(text, whole, limits{maxSchemaDepth, maxSchemaNodes})
	}
	if f != nil {
		return nil, schemaFault(text, f)
	}
	return root, checkRoot(root)
}

func schemaFault(text string, f *fault) error {
	e := parseError(text, f)
	place := "line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column)
	return &SchemaError{"", "its JSON is not usable: " + place + ": " + f.reason}
}

func checkRoot(root any) error {
	switch v := root.(type) {
	case map[string]any:
		return nil
	case bool:
		if v {
			return nil
		}
		return &SchemaError{"", "false allows no answer at all"}
	}
	return &SchemaError{"", "a JSON object was expected, got " + describe(root)}
}

func (d *document) addResource(uri *url.URL, at string) *resource {
	res := &resource{uri: uri, at: at, anchors: map[string]string{}}
	d.ids[uri.String()] = res
	return res
}

// visit takes apart the schema value at the pointer at, and all in it. around
// is the schema it stands in.
func (d *document) visit(at string, value any, around *node) (*node, error) {
	if n, ok := d.nodes[at]; ok {
		return n, nil
	}
	members, _ := value.(map[string]any)
	n := &node{at: at, members: members, draft: around.draft, lenient: around.lenient, res: around.res, own: 1}
	d.nodes[at] = n
	d.order = append(d.order, n)
	if d.pointerBytes += len(at); d.pointerBytes > maxPointerBytes {
		return nil, &SchemaError{at, "its property names are too long for how deep they nest"}
	}
	if err := d.identify(n); err != nil {
		return nil, err
	}
	n.modernise()
	for _, word := range sorted(members) {
		if err := d.visitKeyword(n, word); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func sorted(members map[string]any) []string {
	words := make([]string, 0, len(members))
	for word := range members {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// visitKeyword takes apart what stands under one keyword of n.
func (d *document) visitKeyword(n *node, word string) error {
	value := n.members[word]
	ref, ok := value.(string)
	if ok && (word == "$ref" || word == "$dynamicRef" && n.draft == draft2020) {
		d.pending = append(d.pending, reference{n, word, ref})
	}
	if err := d.checkPatterns(n, word); err != nil {
		return err
	}
	kw, ok := keywords[word]
	if !ok || kw.since > n.draft {
		n.own += size(value)
		return nil
	}
	switch v := value.(type) {
	case []any:
		return d.visitList(n, word, kw, v)
	case map[string]any:
		if kw.shape == table {
			return d.visitTable(n, word, kw, v)
		}
	}
	return d.visitOne(n, n.at+"/"+word, value, edge{role: kw.role, word: word})
}

func (d *document) visitList(n *node, word string, kw keyword, items []any) error {
	if word == "items" {
		kw.role = oneMember // draft-07: a schema for each place
	}
	for i, item := range items {
		if err := d.visitOne(n, n.at+"/"+word+"/"+strconv.Itoa(i), item, edge{role: kw.role, word: word}); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) visitTable(n *node, word string, kw keyword, entries map[string]any) error {
	for _, name := range sorted(entries) {
		if _, names := entries[name].([]any); names {
			n.own += size(entries[name]) // dependencies: names, no schema
			continue
		}
		if err := d.visitOne(n, n.at+"/"+word+"/"+escapeToken(name), entries[name], edge{role: kw.role, word: word}); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) visitOne(n *node, at string, value any, e edge) error {
	sub, err := d.visit(at, value, n)
	if err != nil {
		return err
	}
	if !n.refersOnly() {
		e.to = sub
		n.edges = append(n.edges, e)
	}
	return nil
}

// modernise rewrites draft-07's spellings, where no $schema says which draft
// is meant, to those of 2020-12.
func (n *node) modernise() {
	if !n.lenient || n.members == nil {
		return
	}
	if id, ok := n.members["$id"].(string); ok && strings.HasPrefix(id, "#") {
		delete(n.members, "$id")
		n.members["$anchor"] = id[1:]
		n.res.anchors[id[1:]] = n.at
	}
	items, ok := n.members["items"].([]any)
	if _, both := n.members["prefixItems"]; !ok || both {
		return
	}
	n.moved = true
	delete(n.members, "items")
	if len(items) > 0 {
		n.members["prefixItems"] = items
	}
	if rest, ok := n.members["additionalItems"]; ok {
		n.members["items"] = rest
		delete(n.members, "additionalItems")
	}
}

// size counts the JSON values in value.
func size(value any) int {
	n := 1
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			n += size(item)
		}
	case map[string]any:
		for _, member := range v {
			n += size(member)
		}
	}
	return n
}
