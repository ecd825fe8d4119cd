package openai

import "encoding/json"

// format is what a request says of its answer's form.
type format struct {
	schema json.RawMessage // nil for plain text
}

// anyObject is the schema of response_format json_object.
var anyObject = json.RawMessage(`{"type":"object"}`)

// readFormat reads response_format.
func readFormat(v value) (format, error) {
	if v.absent() {
		return format{}, nil
	}
	fields, err := v.object()
	if err != nil {
		return format{}, err
	}
	word, err := fields.need(v, "type")
	if err != nil {
		return format{}, err
	}
	kind, err := word.text()
	if err != nil {
		return format{}, err
	}
	switch kind {
	case "text":
		return format{}, nil
	case "json_object":
		return format{anyObject}, nil
	case "json_schema":
		return readSchemaFormat(v, fields)
	}
	return format{}, badField(word.at, "%q is not a format; use text, json_object or json_schema", clip(kind, 100))
}

func readSchemaFormat(v value, fields members) (format, error) {
	field, inside, err := inner(v, fields, "json_schema")
	if err != nil {
		return format{}, err
	}
	schema, err := inside.need(field, "schema")
	if err != nil {
		return format{}, err
	}
	if !schema.is('{') {
		return format{}, schema.wrong("a JSON Schema, which is an object")
	}
	return format{schema.raw}, nil
}
