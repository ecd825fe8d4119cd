package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// key is a key of the cron file and how its value is read.
type key struct {
	name string
	read func(l *level, value *yaml.Node) error
}

// defaultKeys stand at the top of the file, and may stand in each job.
var defaultKeys = []key{
	{"workspace", text(func(j *job) *string { return &j.workspace })},
	{"model", (*level).readModel},
	{"effort", (*level).readEffort},
	{"thinking", (*level).readEffort},
	{"system_prompt", text(func(j *job) *string { return &j.system })},
	{"append_system_prompt", text(func(j *job) *string { return &j.appendSystem })},
	{"no_continue", flag(func(j *job) *bool { return &j.fresh })},
	{"telegram_chat_id", number(func(j *job) *int64 { return &j.chat })},
	{"telegram_thread_id", (*level).readThread},
	{"timezone", (*level).readZone},
	{"timeout_seconds", (*level).readTimeout},
	{"misfire", (*level).readMisfire},
	{"misfire_grace", (*level).readGrace},
	{"allow_empty", flag(func(j *job) *bool { return &j.allowEmpty })},
}

// jobKeys stand in a job.
var jobKeys = append([]key{
	{"name", text(func(j *job) *string { return &j.name })},
	{"schedule", (*level).readSchedule},
	{"instruction", (*level).readInstruction},
	{"enabled", flag(func(j *job) *bool { return &j.enabled })},
}, defaultKeys...)

// text reads any single value as it is written.
func text(field func(*job) *string) func(*level, *yaml.Node) error {
	return func(l *level, value *yaml.Node) error {
		if value.Kind != yaml.ScalarNode {
			return errScalar
		}
		*field(l.job) = value.Value
		return nil
	}
}

// flag reads a switch.
func flag(field func(*job) *bool) func(*level, *yaml.Node) error {
	return func(l *level, value *yaml.Node) error {
		switch strings.ToLower(value.Value) {
		case "true", "yes", "on":
			*field(l.job) = true
		case "false", "no", "off":
			*field(l.job) = false
		default:
			return fmt.Errorf("must be true or false, and is %s", shownValue(value))
		}
		return nil
	}
}

// number reads a whole number.
func number(field func(*job) *int64) func(*level, *yaml.Node) error {
	return func(l *level, value *yaml.Node) error {
		n, err := strconv.ParseInt(value.Value, 10, 64)
		if value.Kind != yaml.ScalarNode || err != nil {
			return fmt.Errorf("must be a whole number, and is %s", shownValue(value))
		}
		*field(l.job) = n
		return nil
	}
}

func shownValue(value *yaml.Node) string {
	if value.Kind == yaml.ScalarNode {
		return fmt.Sprintf("%.80q", value.Value)
	}
	return kind(value)
}

func (l *level) readSchedule(value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode {
		return errors.New("must be a text in quotes")
	}
	l.text, l.hasText = value.Value, true
	return nil
}

func (l *level) readInstruction(value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode || strings.TrimSpace(value.Value) == "" {
		return errors.New("must be a text that is not empty")
	}
	l.job.instruction = value.Value
	return nil
}

func (l *level) readModel(value *yaml.Node) error {
	return l.readListed(&l.job.model, value, l.on.models)
}

func (l *level) readEffort(value *yaml.Node) error {
	return l.readListed(&l.job.effort, value, l.on.efforts)
}

func (l *level) readListed(field *string, value *yaml.Node, list []string) error {
	if value.Kind != yaml.ScalarNode {
		return errScalar
	}
	if value.Value != "" && len(list) > 0 && !slices.Contains(list, value.Value) {
		return fmt.Errorf("this box does not offer %q; it offers %s", value.Value, strings.Join(list, ", "))
	}
	*field = value.Value
	return nil
}

func (l *level) readThread(value *yaml.Node) error {
	if err := number(func(j *job) *int64 { return &j.thread })(l, value); err != nil {
		return err
	}
	if l.job.thread < 0 {
		return errors.New("must be the number of a topic, or 0 for none")
	}
	return nil
}

func (l *level) readZone(value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode {
		return errScalar
	}
	name := value.Value
	zone, err := time.LoadLocation(name)
	if err != nil || strings.TrimSpace(name) == "" {
		return fmt.Errorf("%q is no time zone that is known; use a name such as Europe/Berlin or UTC", name)
	}
	l.job.schedule.zone, l.job.zoneName = zone, name
	return nil
}

// maxSeconds is about 68 years; longer times are not a duration in Go.
const maxSeconds = 1<<31 - 1

func (l *level) readTimeout(value *yaml.Node) error {
	n, err := strconv.ParseInt(value.Value, 10, 64)
	if value.Kind != yaml.ScalarNode || err != nil || n < 0 || n > maxSeconds {
		return fmt.Errorf("must be a whole number of seconds, or 0 for the box's own limit, and is %s", shownValue(value))
	}
	l.job.timeout = time.Duration(n) * time.Second
	return nil
}

func (l *level) readMisfire(value *yaml.Node) error {
	switch p := policy(value.Value); p {
	case misfireSkip, misfireOnce, misfireAll:
		l.job.misfire = p
		return nil
	}
	return fmt.Errorf("must be skip, once or all, and is %s", shownValue(value))
}

func (l *level) readGrace(value *yaml.Node) error {
	if n, err := strconv.ParseInt(value.Value, 10, 64); err == nil && n >= 0 && n <= maxSeconds {
		l.job.grace = time.Duration(n) * time.Second
		return nil
	}
	d, err := time.ParseDuration(value.Value)
	if value.Kind != yaml.ScalarNode || err != nil || d < 0 {
		return fmt.Errorf("must be a duration such as 90s, 30m or 12h, and is %s", shownValue(value))
	}
	l.job.grace = d
	return nil
}
