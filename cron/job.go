package cron

import (
	"strings"
	"time"
)

// policy says what becomes of times that passed while nothing could run.
type policy string

const (
	misfireSkip policy = "skip" // they are recorded
	misfireOnce policy = "once" // the last one runs
	misfireAll  policy = "all"  // each runs, one after another
)

// job is one entry of a cron file, defaults filled in.
type job struct {
	name         string
	line         int // in the file, from 1
	schedule     schedule
	zoneName     string // as written; empty for the box's own zone
	instruction  string
	workspace    string
	model        string
	effort       string
	system       string
	appendSystem string
	fresh        bool // a new session for each run
	chat         int64
	thread       int64
	timeout      time.Duration // 0 leaves it to the box
	misfire      policy
	grace        time.Duration
	allowEmpty   bool
	enabled      bool
}

// usualGrace is how late a missed time may be and still run.
const usualGrace = time.Hour

// plan is what the times of a job depend on. When it changes, times that passed
// before belong to nobody.
func (j job) plan() string { return j.schedule.text + " | " + j.zoneName }

// fill replaces the placeholders in text. What stands in braces and is none of
// them is left as it is.
func (j job) fill(text, workspace string, now time.Time) string {
	return strings.NewReplacer(
		"{workspace}", workspace,
		"{job_name}", j.name,
		"{system_datetime}", now.In(j.schedule.zone).Format("2006-01-02 15:04:05 MST"),
	).Replace(text)
}
