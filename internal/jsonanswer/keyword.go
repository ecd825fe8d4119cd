package jsonanswer

// role tells how the schemas under a keyword take part in checking a value.
type role byte

const (
	stored      role = iota // only when something refers to them
	inPlace                 // they check the same value
	oneMember               // one of them checks a member of the value
	everyMember             // each of them may check every member
)

// shape tells how schemas stand under a keyword.
type shape byte

const (
	single shape = iota
	sequence
	table
)

// keyword is one under which schemas stand.
type keyword struct {
	role  role
	shape shape
	since draft // the first draft that knows it
}

// keywords are those of drafts 07 and 2020-12 under which schemas stand.
// Draft-07's are understood in 2020-12 too, as far as they still have a
// meaning there.
var keywords = map[string]keyword{
	"allOf":                 {inPlace, sequence, draft7},
	"anyOf":                 {inPlace, sequence, draft7},
	"oneOf":                 {inPlace, sequence, draft7},
	"not":                   {inPlace, single, draft7},
	"if":                    {inPlace, single, draft7},
	"then":                  {inPlace, single, draft7},
	"else":                  {inPlace, single, draft7},
	"dependencies":          {inPlace, table, draft7},
	"dependentSchemas":      {inPlace, table, draft2020},
	"properties":            {oneMember, table, draft7},
	"prefixItems":           {oneMember, sequence, draft2020},
	"patternProperties":     {everyMember, table, draft7},
	"additionalProperties":  {everyMember, single, draft7},
	"propertyNames":         {everyMember, single, draft7},
	"contains":              {everyMember, single, draft7},
	"items":                 {everyMember, single, draft7},
	"additionalItems":       {everyMember, single, draft7},
	"unevaluatedItems":      {everyMember, single, draft2020},
	"unevaluatedProperties": {everyMember, single, draft2020},
	"definitions":           {stored, table, draft7},
	"$defs":                 {stored, table, draft2020},
	"contentSchema":         {stored, single, draft2020},
}

// sizes are the keywords that hold a size. The library keeps them in an int.
var sizes = []string{
	"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
}

// holdsData tells whether what stands under a keyword is a value, in which
// nothing is a schema.
func holdsData(word string) bool {
	return word == "enum" || word == "const" || word == "default" || word == "examples"
}

// draft is a version of JSON Schema.
type draft int

const (
	draft7    draft = 7
	draft2020 draft = 2020
)

// parseDraft reads the value of $schema.
func parseDraft(uri string) (draft, bool) {
	switch trimURI(uri) {
	case "json-schema.org/draft-07/schema":
		return draft7, true
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/schema":
		return draft2020, true
	}
	return 0, false
}
