package jsonanswer

import (
	"net/url"
	"strconv"
	"strings"
)

// reference is a $ref or $dynamicRef.
type reference struct {
	from *node
	word string
	text string
}

// identify reads what names n: $schema, $id and anchors.
func (d *document) identify(n *node) error {
	id, _ := n.members["$id"].(string)
	if n.at == "" || id != "" {
		if err := d.chooseDraft(n); err != nil {
			return err
		}
	}
	name, fragment, _ := strings.Cut(id, "#")
	if name != "" && !n.refersOnly() {
		uri, err := n.res.uri.Parse(name)
		if err != nil {
			return &SchemaError{n.at + "/$id", "this is no URI"}
		}
		if len(d.ids) > maxIDs {
			return &SchemaError{n.at + "/$id", "there are more than 1000 of them"}
		}
		n.res = d.addResource(uri, n.at)
	}
	if fragment != "" && n.draft == draft7 && !n.refersOnly() {
		n.res.anchors[fragment] = n.at
	}
	for _, word := range [...]string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := n.members[word].(string); ok && n.draft == draft2020 {
			n.res.anchors[anchor] = n.at
		}
	}
	return nil
}

func (d *document) chooseDraft(n *node) error {
	value, ok := n.members["$schema"]
	if !ok {
		return nil
	}
	uri, _ := value.(string)
	chosen, ok := parseDraft(uri)
	if ok {
		n.draft, n.lenient = chosen, false
		return nil
	}
	if d.open {
		return nil
	}
	return &SchemaError{n.at + "/$schema", literal(value) + " is not known; " +
		"https://json-schema.org/draft/2020-12/schema and http://json-schema.org/draft-07/schema# are, " +
		"and without $schema the first is meant"}
}

// trimURI drops what may differ between spellings of a draft's URI.
func trimURI(uri string) string {
	uri = strings.TrimSuffix(uri, "#")
	uri = strings.TrimPrefix(strings.TrimPrefix(uri, "http://"), "https://")
	return uri
}

// follow finds what every reference refers to.
func (d *document) follow() error {
	for len(d.pending) > 0 {
		ref := d.pending[0]
		d.pending = d.pending[1:]
		if err := d.resolve(ref); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) resolve(ref reference) error {
	name, fragment, _ := strings.Cut(ref.text, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return ref.fault("is no URI")
	}
	res, err := d.resource(ref, name)
	if res == nil || err != nil {
		return err
	}
	at, ok := res.at, true
	if strings.HasPrefix(fragment, "/") {
		at = res.at + fragment
	} else if fragment != "" {
		at, ok = res.anchors[fragment]
	}
	if !ok {
		return ref.fault("names an anchor that is not in the schema")
	}
	return d.join(ref, res, name, at)
}

// resource returns the part of the document that a reference's URI names. It
// is nil if references may lead out and this one does.
func (d *document) resource(ref reference, name string) (*resource, error) {
	if name == "" {
		return ref.from.res, nil
	}
	uri, err := ref.from.res.uri.Parse(name)
	if err != nil {
		return nil, ref.fault("is no URI")
	}
	if res, ok := d.ids[uri.String()]; ok {
		return res, nil
	}
	if d.open {
		return nil, nil
	}
	return nil, ref.fault("refers to another document, and nothing is ever fetched; " +
		`put what it refers to under "$defs" and refer to it as "#/$defs/name"`)
}

func (ref reference) fault(reason string) error {
	return &SchemaError{ref.from.at + "/" + ref.word, quote(ref.text) + " " + reason}
}

// join adds the edge from a reference to the schema at the pointer at.
func (d *document) join(ref reference, res *resource, name, at string) error {
	value, real, ok := d.lookup(at)
	if !ok {
		return ref.fault("names a place that is not in the schema")
	}
	target, known := d.nodes[real]
	if !known {
		around, word := d.around(real)
		if holdsData(word) {
			return ref.fault("names a value, which is no schema")
		}
		if d.strange++; d.strange > maxStrange {
			return ref.fault(`is one of more than 200 that refer to places outside "$defs" and "definitions"`)
		}
		var err error
		if target, err = d.visit(real, value, around); err != nil {
			return err
		}
	}
	if real != at {
		ref.from.members[ref.word] = name + "#" + encodePointer(strings.TrimPrefix(real, res.at))
	}
	ref.from.edges = append(ref.from.edges, edge{target, inPlace, ref.word})
	return nil
}

// lookup returns the value at a pointer, and the pointer under which it is
// found since items were moved.
func (d *document) lookup(at string) (value any, real string, ok bool) {
	value = d.root
	if at == "" {
		return value, "", true
	}
	tokens := strings.Split(at[1:], "/")
	for i, token := range tokens {
		if n, ok := d.nodes[real]; ok && n.moved {
			token = movedToken(token, tokens[i+1:])
		}
		if value, ok = member(value, token); !ok {
			return nil, "", false
		}
		real += "/" + token
	}
	return value, real, true
}

func movedToken(token string, rest []string) string {
	if token == "additionalItems" {
		return "items"
	}
	if token == "items" && len(rest) > 0 {
		if _, err := strconv.Atoi(rest[0]); err == nil {
			return "prefixItems"
		}
	}
	return token
}

var tokenUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// member returns what stands under one token of a pointer.
func member(value any, token string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		sub, ok := v[tokenUnescaper.Replace(token)]
		return sub, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// around returns the innermost schema that the pointer at stands in, and the
// keyword of it that at goes through.
func (d *document) around(at string) (*node, string) {
	word := ""
	for {
		i := strings.LastIndexByte(at, '/')
		at, word = at[:i], at[i+1:]
		if n, ok := d.nodes[at]; ok {
			return n, word
		}
	}
}

func encodePointer(at string) string {
	tokens := strings.Split(at, "/")
	for i, token := range tokens {
		tokens[i] = url.PathEscape(token)
	}
	return strings.Join(tokens, "/")
}
