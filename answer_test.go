package aicodebox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/psyb0t/aicodebox"
)

func ExampleAnswer() {
	var answer aicodebox.Answer
	answer.Begin(false)
	fmt.Printf("%q\n", answer.Say("The answer "))
	answer.Begin(true) // the stream broke, and the agent tries again
	fmt.Printf("%q\n", answer.Say("The "))
	fmt.Printf("%q\n", answer.Say("answer is 42."))
	fmt.Printf("%q\n", answer.Text())
	// Output:
	// "The answer "
	// ""
	// "is 42."
	// "The answer is 42."
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	type step struct {
		begin string // "new", "again" or nothing
		say   []string
		end   string // the whole message, unless it is "-"
	}
	for name, c := range map[string]struct {
		steps        []step
		stream, text string
	}{
		"pieces":                      {[]step{{"new", []string{"a", "", "b"}, "ab"}}, "ab", "ab"},
		"no begin":                    {[]step{{"", []string{"a"}, "-"}}, "a", "a"},
		"whole only":                  {[]step{{"new", nil, "ab"}}, "ab", "ab"},
		"pieces cut short":            {[]step{{"new", []string{"a"}, "abc"}}, "abc", "abc"},
		"the whole says other":        {[]step{{"new", []string{"ab"}, "xy"}}, "ab", "xy"},
		"two answers":                 {[]step{{"new", []string{"a"}, "a"}, {"new", []string{"b"}, "b"}}, "a\n\nb", "b"},
		"same again":                  {[]step{{"new", []string{"ab"}, "-"}, {"again", []string{"a", "b"}, "ab"}}, "ab", "ab"},
		"goes on":                     {[]step{{"new", []string{"ab"}, "-"}, {"again", []string{"a", "bc", "d"}, "abcd"}}, "abcd", "abcd"},
		"goes on as a whole":          {[]step{{"new", []string{"ab"}, "-"}, {"again", nil, "abcd"}}, "abcd", "abcd"},
		"says other":                  {[]step{{"new", []string{"ab"}, "-"}, {"again", []string{"a", "x"}, "ax"}}, "ab\n\nax", "ax"},
		"says less":                   {[]step{{"new", []string{"abc"}, "-"}, {"again", []string{"a"}, "ab"}}, "abc", "ab"},
		"three tries":                 {[]step{{"new", []string{"ab"}, "-"}, {"again", []string{"a"}, "-"}, {"again", []string{"abc"}, "abc"}}, "abc", "abc"},
		"nothing told":                {[]step{{"new", nil, "-"}, {"again", []string{"a"}, "a"}}, "a", "a"},
		"again after another answer":  {[]step{{"new", []string{"x"}, "x"}, {"new", []string{"a"}, "-"}, {"again", []string{"ab"}, "ab"}}, "x\n\nab", "ab"},
		"an empty whole after pieces": {[]step{{"new", []string{"a"}, ""}}, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answer aicodebox.Answer
			var stream strings.Builder
			for _, s := range c.steps {
				if s.begin != "" {
					answer.Begin(s.begin == "again")
				}
				for _, piece := range s.say {
					stream.WriteString(answer.Say(piece))
				}
				if s.end != "-" {
					stream.WriteString(answer.End(s.end))
				}
			}
			if stream.String() != c.stream || answer.Text() != c.text {
				t.Errorf("the stream is %q, the answer %q; want %q and %q", stream.String(), answer.Text(), c.stream, c.text)
			}
		})
	}
}
