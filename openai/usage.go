package openai

import "github.com/psyb0t/aicodebox"

// usage is what an answer cost, as clients of OpenAI's API know it.
type usage struct {
	Prompt        int64             `json:"prompt_tokens"`
	Completion    int64             `json:"completion_tokens"`
	Total         int64             `json:"total_tokens"`
	PromptDetails promptDetails     `json:"prompt_tokens_details"`
	Details       completionDetails `json:"completion_tokens_details"`
	Cost          float64           `json:"cost,omitempty"` // usually US dollars
}

type promptDetails struct {
	Cached int64 `json:"cached_tokens"`
}

type completionDetails struct {
	Reasoning int64 `json:"reasoning_tokens"`
}

// usageOf translates the agent's counts. An agent that does not tell has used
// zero tokens here, since clients need the member.
func usageOf(u *aicodebox.Usage) usage {
	if u == nil {
		return usage{}
	}
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return usage{
		Prompt: prompt, Completion: u.Output, Total: prompt + u.Output,
		PromptDetails: promptDetails{u.CacheRead}, Details: completionDetails{u.Reasoning}, Cost: u.Cost,
	}
}
