package jsonanswer

// SchemaError tells why a schema cannot be used, which is for its author to
// mend.
type SchemaError struct {
	Path   string // JSON pointer to the place in the schema; empty is all of it
	Reason string
}

// Error names the place and what is wrong with it.
func (e *SchemaError) Error() string {
	if e.Path == "" {
		return "the JSON schema cannot be used: " + e.Reason
	}
	return "the JSON schema cannot be used: at " + e.Path + ": " + e.Reason
}
