package openai

import "testing"

func TestIsChore(t *testing.T) {
	t.Parallel()
	const openWebUI = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n- Write the title in the chat's primary language.\n### Output:\nJSON format: { \"title\": \"your concise title here\" }\n### Chat History:\n<chat_history>\nUSER: fix the bug\nASSISTANT: done\n</chat_history>"
	for name, tt := range map[string]struct {
		text string
		more m
		want bool
	}{
		"title":                 {text: openWebUI, want: true},
		"tags":                  {text: "### Task:\nGenerate 1-3 broad tags categorizing the main themes.\n<chat_history>\nUSER: hi\n</chat_history>", want: true},
		"follow-ups":            {text: "### Task:\nSuggest 3-5 relevant follow-up questions.\n<chat_history>\nUSER: hi\n</chat_history>", want: true},
		"three words":           {text: "Give this chat a three-word title. Answer as JSON {\"title\": \"...\"}.\n<conversation>user: hi\nassistant: hello</conversation>", want: true},
		"other tags, speakers":  {text: "Please create a short title for the following:\n<text>\nHuman: hi\nAI: hello\n</text>", want: true},
		"heading":               {text: "Provide a concise, 5-word-or-less title for the conversation, using title case. Only return the title itself.\n\nConversation:\nUser: hi\nAI: hello", want: true},
		"fence":                 {text: "Summarize this as a title\n```\nuser: hi\nassistant: ho\n```", want: true},
		"JSON lines":            {text: "Generate a title for:\n```json\n[{\n\"role\": \"user\", \"content\": \"hi\"}]\n```", want: true},
		"dashes":                {text: "Write three follow-up questions.\n---\nUser: hi\n---", want: true},
		"quotes":                {text: "Suggest tags\n\"\"\"\nuser: hi\n\"\"\"", want: true},
		"work":                  {text: "Fix the bug in main.go"},
		"title, no quote":       {text: "Generate a title for my blog post about Go"},
		"task, no quote":        {text: "### Task:\nFix the bug."},
		"HTML":                  {text: "Create a page with the title <b>Hello</b> and tags"},
		"quote, other wish":     {text: "Fix what the log shows\n<log>\nuser: hi\n</log>"},
		"wish in the quote":     {text: "Explain this\n<chat_history>\nuser: generate a title\n</chat_history>"},
		"more than one message": {text: openWebUI, more: m{"messages": []m{{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": openWebUI}}}},
		"with tools":            {text: openWebUI, more: tools},
		"with a system message": {text: openWebUI, more: m{"messages": []m{{"role": "system", "content": "be brief"}, {"role": "user", "content": openWebUI}}}, want: true},
	} {
		more := tt.more
		if more == nil {
			more = m{}
		}
		r, err := readChat([]byte(text(ask(tt.text, more))))
		if err != nil {
			t.Fatal(err)
		}
		if got := isChore(r); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
