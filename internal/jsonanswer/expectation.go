package jsonanswer

import (
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// expectation tells what the keyword behind an error expects, and what there
// is instead where a description of the bad value does not tell it.
func expectation(k jsonschema.ErrorKind) (want, got string) {
	switch k := k.(type) {
	case *kind.Type: // of the meta-schema: ours are facts
		return strings.Join(k.Want, " or "), ""
	case *kind.Const:
		return "the value " + literal(k.Want), ""
	case *kind.Enum:
		return enumWant(k.Want), ""
	case *kind.Format:
		return formatWant(k)
	case *kind.FalseSchema:
		return "nothing here: the schema allows no such value", ""
	case *kind.Not:
		return `a value that the schema under "not" refuses`, ""
	case *kind.OneOf:
		return oneOfWant(k), ""
	case *kind.RefCycle:
		return "nothing that can be checked: the schema refers to itself without end", ""
	}
	if want, got, ok := objectWant(k); ok {
		return want, got
	}
	if want, got, ok := arrayWant(k); ok {
		return want, got
	}
	if want, got, ok := scalarWant(k); ok {
		return want, got
	}
	return "something else: " + k.LocalizedString(message.NewPrinter(language.English)), ""
}

// formatWant tells what the checks expect that go in the guise of a format.
func formatWant(k *kind.Format) (want, got string) {
	var twice *duplicateError
	var fact *factError
	switch {
	case errors.As(k.Err, &twice):
		return "items that all differ", "equal items at " + strconv.Itoa(twice.first) + " and " + strconv.Itoa(twice.second)
	case errors.As(k.Err, &fact):
		return fact.want, ""
	}
	return "a text of the format " + quote(k.Want), ""
}

func oneOfWant(k *kind.OneOf) string {
	if len(k.Subschemas) < 2 {
		return `a value that fits one alternative of "oneOf"`
	}
	return `a value that fits exactly one alternative of "oneOf", not both ` +
		strconv.Itoa(k.Subschemas[0]) + " and " + strconv.Itoa(k.Subschemas[1])
}

func objectWant(k jsonschema.ErrorKind) (want, got string, ok bool) {
	switch k := k.(type) {
	case *kind.Required:
		return properties(k.Missing), "", true
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		return "no other properties than the schema has", properties(k.Properties), true
	case *kind.DependentRequired:
		return needed(k.Missing, k.Prop), "", true
	case *kind.Dependency:
		return needed(k.Missing, k.Prop), "", true
	case *kind.MinProperties:
		return "at least " + propertyCount(k.Want), strconv.Itoa(k.Got), true
	case *kind.MaxProperties:
		return "at most " + propertyCount(k.Want), strconv.Itoa(k.Got), true
	}
	return "", "", false
}

func needed(missing []string, because string) string {
	return properties(missing) + ", needed where " + quote(because) + " is"
}

func propertyCount(n int) string {
	if n == 1 {
		return "1 property"
	}
	return strconv.Itoa(n) + " properties"
}

func arrayWant(k jsonschema.ErrorKind) (want, got string, ok bool) {
	switch k := k.(type) {
	case *kind.MinItems:
		return "at least " + count(k.Want, "item"), strconv.Itoa(k.Got), true
	case *kind.MaxItems:
		return "at most " + count(k.Want, "item"), strconv.Itoa(k.Got), true
	case *kind.AdditionalItems:
		return "no further items", count(k.Count, "item") + " too many", true
	case *kind.Contains:
		return `an item that fits the schema under "contains"`, "none", true
	case *kind.MinContains:
		return "at least " + count(k.Want, "item") + ` that fit the schema under "contains"`, strconv.Itoa(len(k.Got)), true
	case *kind.MaxContains:
		return "at most " + count(k.Want, "item") + ` that fit the schema under "contains"`, strconv.Itoa(len(k.Got)), true
	}
	return "", "", false
}

func scalarWant(k jsonschema.ErrorKind) (want, got string, ok bool) {
	switch k := k.(type) {
	case *kind.MinLength:
		return "at least " + count(k.Want, "character"), strconv.Itoa(k.Got), true
	case *kind.MaxLength:
		return "at most " + count(k.Want, "character"), strconv.Itoa(k.Got), true
	case *kind.Pattern:
		return "a string that matches the pattern " + quoteWithin(k.Want, 200), "", true
	case *kind.Minimum:
		return "a number of at least " + decimal(k.Want), "", true
	case *kind.Maximum:
		return "a number of at most " + decimal(k.Want), "", true
	case *kind.ExclusiveMinimum:
		return "a number greater than " + decimal(k.Want), "", true
	case *kind.ExclusiveMaximum:
		return "a number less than " + decimal(k.Want), "", true
	case *kind.MultipleOf:
		return "a multiple of " + decimal(k.Want), "", true
	}
	return "", "", false
}

// decimal writes a number of a schema exactly, cut short if it is very long.
func decimal(r *big.Rat) string {
	if n, exact := r.FloatPrec(); exact {
		return shorten(r.FloatString(n))
	}
	return shorten(r.RatString())
}
