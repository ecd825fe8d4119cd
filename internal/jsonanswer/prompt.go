package jsonanswer

import (
	"strings"
)

// promptIntro begins what Prompt adds to a task.
const promptIntro = "Your final message must be one JSON value and nothing else:"

// Prompt returns what is added to a task so that an agent answers with JSON
// alone. It states the schema once. A nil schema asks for any object.
func Prompt(schema []byte) string {
	return promptIntro + " no text before or after it, no Markdown fence around it, no comments in it.\n" +
		"First do all the work that the task needs, with your tools if you have any; the JSON comes last and holds the whole result.\n\n" +
		demand(schema)
}

// demand states what the value has to be.
func demand(schema []byte) string {
	if schema == nil {
		return "The value must be a JSON object."
	}
	return "The value must satisfy this JSON Schema:\n\n" + oneLine(schema) + "\n\n" +
		"Answer with a value that satisfies the schema, not with the schema itself. " +
		"Give every property that it requires, with exactly the names, types and allowed values that it states; " +
		"where it allows no other properties, add none."
}

// oneLine writes a schema without the whitespace between its tokens.
func oneLine(schema []byte) string {
	text := strings.TrimPrefix(string(schema), bom)
	whole, f := scanWhole(text, span{0, len(text)})
	if f != nil {
		return strings.TrimSpace(text)
	}
	out, _ := compact(text[whole.start:whole.end])
	return string(out)
}

// Correction returns the prompt that asks again in the session of a bad
// answer, which knows the task: what is wrong, what to do, and the schema.
func Correction(err error, schema []byte) string {
	return "Your last message cannot be used, because " + complaint(err) + "\n\n" +
		"Send the complete answer again with this fixed. Keep what was right, and do not redo the work. " +
		"Send only the JSON value: no apology, no explanation, no Markdown fence.\n\n" +
		demand(schema)
}

// maxComplaint bounds what of an error goes into a prompt.
const maxComplaint = 4 << 10

// complaint words an error so that it can follow "because".
func complaint(err error) string {
	text := err.Error()
	if len(text) > maxComplaint {
		text = strings.ToValidUTF8(text[:maxComplaint], "") + "…"
	}
	if strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
		return text
	}
	return text + "."
}

// Retry returns the prompt that asks a fresh session, which knows nothing: the
// task, what is asked for, the bad answer and what is wrong with it.
func Retry(task, bad string, err error, schema []byte) string {
	var b strings.Builder
	b.WriteString(task + "\n\n" + Prompt(schema) + "\n\n")
	b.WriteString("This task was answered before, but the answer cannot be used, because " + complaint(err) + "\n\n")
	if bad = strings.TrimSpace(bad); bad != "" {
		b.WriteString("The answer was, between the two lines of equals signs:\n" + ruler + excerpt(bad) + "\n" + ruler + "\n")
	}
	b.WriteString("Give the complete answer again, with that fixed and with whatever was right in it kept. " +
		"Check it against the schema before you send it. Send only the JSON value.")
	return b.String()
}

const ruler = "==========\n"

// maxExcerpt bounds how much of a bad answer a fresh session is shown.
const maxExcerpt = 16 << 10

// excerpt shortens a long answer in the middle.
func excerpt(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	const half = maxExcerpt / 2
	head := strings.ToValidUTF8(text[:half], "")
	tail := strings.ToValidUTF8(text[len(text)-half:], "")
	return head + "\n[… the middle is left out …]\n" + tail
}
