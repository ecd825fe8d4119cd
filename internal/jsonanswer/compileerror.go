package jsonanswer

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compileError puts what the library finds wrong with a schema into our words.
func compileError(err error, root any) error {
	var (
		ours    *SchemaError
		invalid *jsonschema.SchemaValidationError
		id      *jsonschema.DuplicateIDError
		anchor  *jsonschema.DuplicateAnchorError
	)
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &invalid):
		return metaError(invalid, root)
	case errors.As(err, &id):
		return &SchemaError{id.Ptr1, "its $id is given to another schema too"}
	case errors.As(err, &anchor):
		return &SchemaError{anchor.Ptr1, "its anchor " + quote(anchor.Anchor) + " is given to another schema too"}
	}
	return &SchemaError{"", strings.ReplaceAll(err.Error(), rootURI, "")}
}

// metaError tells where a schema is no valid schema. Its first fault is
// enough.
func metaError(invalid *jsonschema.SchemaValidationError, root any) error {
	var bad *jsonschema.ValidationError
	if !errors.As(invalid.Err, &bad) {
		return &SchemaError{"", invalid.Err.Error()}
	}
	at := ""
	if i := strings.IndexByte(invalid.URL, '#'); i >= 0 {
		at = invalid.URL[i+1:]
	}
	leaves := explain(bad, root)
	if len(leaves) == 0 {
		return &SchemaError{at, "it is no valid schema"}
	}
	reason := "expected " + leaves[0].Want
	if leaves[0].Got != "" && at == "" {
		reason += ", got " + leaves[0].Got
	}
	return &SchemaError{at + leaves[0].Path, reason}
}
