package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// settings is the part of pi's settings.json that a session would otherwise
// override with what it remembers.
type settings struct {
	DefaultThinkingLevel string   `json:"defaultThinkingLevel"`
	DefaultTools         []string `json:"defaultTools"` // names, or +name and -name; nil is pi's own selection
}

// readSettings reads the user's settings. Without any, or with a file that pi
// cannot read either, pi's own defaults stand.
func readSettings(env []string) settings {
	var s settings
	data, err := os.ReadFile(filepath.Join(stateDir(env), "settings.json"))
	if err == nil {
		_ = json.Unmarshal(data, &s) // pi says itself what is wrong with it
	}
	return s
}

// stateDir is where pi keeps its files, as env or our own environment say.
func stateDir(env []string) string {
	dir := os.Getenv("PI_CODING_AGENT_DIR")
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PI_CODING_AGENT_DIR="); ok {
			dir = value
		}
	}
	if dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".pi", "agent")
}

// level is the thinking level of a new session.
func (s settings) level() string {
	if s.DefaultThinkingLevel != "" {
		return s.DefaultThinkingLevel
	}
	return "medium"
}

// tools is the list that gives a continued session the tools of a new one: what
// is on is added, and what the settings turn off is taken away. Names alone
// would lose the tools of extensions.
func (s settings) tools() string {
	usual := []string{"read", "bash", "edit", "write"}
	on := slices.Clone(usual)
	if s.DefaultTools != nil && !slices.ContainsFunc(s.DefaultTools, changes) {
		on = nil
	}
	for _, name := range s.DefaultTools {
		bare := strings.TrimLeft(name, "+-")
		on = slices.DeleteFunc(on, func(t string) bool { return t == bare })
		if !strings.HasPrefix(name, "-") {
			on = append(on, bare)
		}
	}
	var words []string
	for _, name := range usual {
		if !slices.Contains(on, name) {
			words = append(words, "-"+name)
		}
	}
	for _, name := range on {
		words = append(words, "+"+name)
	}
	return strings.Join(words, ",")
}

func changes(name string) bool {
	return strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-")
}
