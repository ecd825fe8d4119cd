package cron

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/psyb0t/aicodebox"
)

// trigger is what started a run.
type trigger string

const (
	bySchedule trigger = "schedule" // its time came
	byCatchUp  trigger = "catch-up" // its time had passed
	byHand     trigger = "manual"   // a person or program asked
)

// The states of a run in its records.
const (
	statusRunning     = "running"
	statusCompleted   = "completed"
	statusFailed      = "failed"
	statusCancelled   = "cancelled"
	statusInterrupted = "interrupted" // its box died
	statusSkipped     = "skipped"     // a time without a run: something was in the way
	statusMissed      = "missed"      // times without a run: no box was there
)

// meta is meta.json, written when a run starts and again when it ends. What is
// not known is null.
type meta struct {
	Name               string           `json:"name"`
	Schedule           string           `json:"schedule"`
	Timezone           *string          `json:"timezone"`
	Trigger            trigger          `json:"trigger"`
	ScheduledFor       *string          `json:"scheduled_for"`
	Model              *string          `json:"model"`
	Effort             *string          `json:"effort"`
	Thinking           *string          `json:"thinking"` // the same
	Instruction        string           `json:"instruction"`
	SystemPrompt       *string          `json:"system_prompt"`
	AppendSystemPrompt *string          `json:"append_system_prompt"`
	Workspace          string           `json:"workspace"`
	WorkspaceSlug      string           `json:"workspace_slug"`
	RunID              string           `json:"run_id"`
	StartedAt          string           `json:"started_at"`
	FinishedAt         *string          `json:"finished_at"`
	Status             string           `json:"status"`
	ExitCode           *int             `json:"exit_code"`
	Error              *string          `json:"error"`
	SessionID          *string          `json:"session_id"`
	Usage              *aicodebox.Usage `json:"usage"`
	SkippedTicks       int              `json:"skipped_ticks"` // times that came while it ran
	TelegramChatID     int64            `json:"telegram_chat_id"`
	TelegramThreadID   int64            `json:"telegram_thread_id"`
}

// summary is a line of <job>.jsonl: a run, or times without one.
type summary struct {
	Job          string  `json:"job"`
	FiredAt      string  `json:"fired_at"`
	FinishedAt   string  `json:"finished_at"`
	Schedule     string  `json:"schedule"`
	Trigger      trigger `json:"trigger,omitempty"`
	ScheduledFor string  `json:"scheduled_for,omitempty"`
	RunID        string  `json:"run_id,omitempty"`
	Status       string  `json:"status"`
	ExitCode     *int    `json:"exit_code,omitempty"` // -1 if the agent was not started
	Text         *string `json:"text,omitempty"`      // cut when long; result.txt has it whole
	Stderr       *string `json:"stderr,omitempty"`    // cut when long; stderr.log has it whole
	Error        string  `json:"error,omitempty"`
	HistoryDir   string  `json:"history_dir,omitempty"`
	SkippedTicks int     `json:"skipped_ticks,omitempty"`

	// Of missed times.
	Missed  int    `json:"missed,omitempty"` // how many will not run
	More    bool   `json:"more,omitempty"`   // there are more than Missed
	CatchUp int    `json:"catch_up,omitempty"`
	First   string `json:"first,omitempty"`
	Last    string `json:"last,omitempty"`
	Misfire policy `json:"misfire,omitempty"`
}

// record is what is known of a run while it goes on.
type record struct {
	job          job
	trigger      trigger
	due          time.Time // zero unless its time started it
	runID        string
	workspace    string // absolute; empty if it is no workspace
	instruction  string // placeholders filled in
	system       string
	appendSystem string
	fired        time.Time
	finished     time.Time
	status       string
	exitCode     int
	failure      string
	text         string
	stdout       []byte
	stderr       []byte
	session      string
	usage        *aicodebox.Usage
	dir          string // absolute; empty while it has none
	skipped      int
	previous     string // directory of the run before, or empty
}

func (r *record) meta() meta {
	j := r.job
	m := meta{
		Name: j.name, Schedule: j.schedule.text, Timezone: orNull(j.zoneName), Trigger: r.trigger,
		ScheduledFor: orNull(r.stamp(r.due)), Model: orNull(j.model), Effort: orNull(j.effort), Thinking: orNull(j.effort),
		Instruction: r.instruction, SystemPrompt: orNull(r.system), AppendSystemPrompt: orNull(r.appendSystem),
		Workspace: r.workspace, WorkspaceSlug: slug(r.workspace), RunID: r.runID, StartedAt: r.stamp(r.fired),
		FinishedAt: orNull(r.stamp(r.finished)), Status: r.status, Error: orNull(r.failure), SessionID: orNull(r.session),
		Usage: r.usage, SkippedTicks: r.skipped, TelegramChatID: j.chat, TelegramThreadID: j.thread,
	}
	if r.status != statusRunning {
		m.ExitCode = &r.exitCode
	}
	return m
}

// mostText is how many bytes of a text stand in a line of <job>.jsonl.
const mostText = 16 << 10

func (r *record) summary() summary {
	text, stderr := cut(r.text, mostText), cut(string(r.stderr), mostText)
	s := summary{
		Job: r.job.name, FiredAt: r.stamp(r.fired), FinishedAt: r.stamp(r.finished), Schedule: r.job.schedule.text,
		Trigger: r.trigger, ScheduledFor: r.stamp(r.due), RunID: r.runID, Status: r.status, ExitCode: &r.exitCode,
		Error: r.failure, HistoryDir: r.dir, SkippedTicks: r.skipped,
	}
	if r.dir != "" {
		s.Text, s.Stderr = &text, &stderr
	}
	if r.status == statusSkipped {
		s.ExitCode = nil
	}
	return s
}

// stamp writes a time on the clock of the job's zone.
func (r *record) stamp(t time.Time) string { return stamp(t, r.job.schedule.zone) }

func stamp(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Truncate(time.Millisecond).Format(time.RFC3339Nano)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// cut shortens s to at most so many bytes, not inside a character, and makes it
// valid UTF-8.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
