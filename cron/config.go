package cron

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/psyb0t/aicodebox/internal/spelling"
)

// config is a cron file that was read and found good.
type config struct{ jobs []job }

// find returns the job of that name.
func (c *config) find(name string) (job, bool) {
	for _, j := range c.jobs {
		if j.name == name {
			return j, true
		}
	}
	return job{}, false
}

// names returns the names of all jobs, as in the file.
func (c *config) names() []string {
	var names []string
	for _, j := range c.jobs {
		names = append(names, j.name)
	}
	return names
}

// offer is what the box has for jobs to choose from. An empty list allows all.
type offer struct{ models, efforts []string }

// parseConfig reads a cron file. The error names everything that is wrong, each
// thing with its line, job and key. now is the time after which a job must
// have a time to run.
func parseConfig(data []byte, on offer, now time.Time) (*config, error) {
	r := &reader{on: on, now: now, names: make(map[string]int)}
	if root := parseDocument(data, &r.faults); root != nil {
		r.file(root)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return &config{r.jobs}, nil
}

// reader reads the nodes of a cron file.
type reader struct {
	faults
	on    offer
	now   time.Time
	jobs  []job
	names map[string]int // name -> line
}

func (r *reader) file(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		r.add(root.Line, "jobs: the file must be a mapping with the key jobs, and is %s", kind(root))
		return
	}
	base := job{misfire: misfireSkip, grace: usualGrace, enabled: true}
	var jobs *yaml.Node
	line := root.Line
	var defaults []entry
	for _, e := range entries(root, "", &r.faults) {
		if e.key == "jobs" {
			jobs, line = e.value, e.line
			continue
		}
		defaults = append(defaults, e)
	}
	l := &level{reader: r, job: &base, keys: defaultKeys, others: []string{"jobs"}}
	l.read(defaults)
	if jobs == nil || jobs.Kind != yaml.SequenceNode || len(jobs.Content) == 0 {
		r.add(line, "jobs: must be a list of at least one job")
		return
	}
	for i, node := range jobs.Content {
		r.job(i, follow(node), base)
	}
}

// job reads one entry of jobs. What base says holds unless the entry says
// otherwise.
func (r *reader) job(i int, node *yaml.Node, base job) {
	where := fmt.Sprintf("job %d", i+1)
	if node.Kind != yaml.MappingNode {
		r.add(node.Line, "%s: must be a mapping with name, schedule and instruction, and is %s", where, kind(node))
		return
	}
	if name := valueOf(node, "name"); name != "" {
		where = fmt.Sprintf("job %q", name)
	}
	where += ": "
	j := base
	j.line = node.Line
	l := &level{reader: r, job: &j, where: where, keys: jobKeys}
	l.read(entries(node, where, &r.faults))
	for _, key := range []string{"name", "schedule", "instruction"} {
		if l.lines[key] == 0 {
			r.add(node.Line, "%s%s: is missing", where, key)
		}
	}
	l.checkName()
	l.checkSchedule()
	r.jobs = append(r.jobs, j)
}

// valueOf returns the text of a key in a mapping, for messages.
func valueOf(node *yaml.Node, key string) string {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key && node.Content[i+1].Kind == yaml.ScalarNode {
			return node.Content[i+1].Value
		}
	}
	return ""
}

// level is one mapping of the file: the top, with the defaults, or a job.
type level struct {
	*reader
	job    *job
	where  string // begins messages
	keys   []key
	others []string       // keys that are read elsewhere
	lines  map[string]int // key -> line, of keys with a value
	text   string         // the schedule as written

	hasText bool
}

func (l *level) read(list []entry) {
	l.lines = make(map[string]int)
	for _, e := range list {
		i := slices.IndexFunc(l.keys, func(k key) bool { return k.name == e.key })
		if i < 0 {
			l.add(e.line, "%s%s: no such key%s", l.where, e.key, l.instead(e.key))
			continue
		}
		if e.value.Kind == yaml.ScalarNode && e.value.Tag == "!!null" {
			continue // as if it were not there
		}
		l.lines[e.key] = e.line
		if err := l.keys[i].read(l, e.value); err != nil {
			l.add(e.line, "%s%s: %v", l.where, e.key, err)
		}
	}
	l.checkEffort(list)
}

// checkEffort refuses two words for one thing that say different things.
func (l *level) checkEffort(list []entry) {
	if l.lines["effort"] == 0 || l.lines["thinking"] == 0 {
		return
	}
	values := make(map[string]string)
	for _, e := range list {
		values[e.key] = e.value.Value
	}
	if values["effort"] != values["thinking"] {
		l.add(l.lines["thinking"], "%sthinking: is another word for effort, and they say different things (%q in line %d)",
			l.where, values["effort"], l.lines["effort"])
	}
}

// instead says what could have been meant by an unknown key.
func (l *level) instead(name string) string {
	known := append([]string(nil), l.others...)
	for _, k := range l.keys {
		known = append(known, k.name)
	}
	if best := spelling.Nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return "; the keys here are " + strings.Join(known, ", ")
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// maxName keeps the names of a job's files short enough for file systems.
const maxName = 150

func (l *level) checkName() {
	name, line := l.job.name, l.lines["name"]
	switch first, twice := l.names[name]; {
	case line == 0:
	case !nameForm.MatchString(name):
		l.add(line, "%sname: must be made of letters, digits, _ and -", l.where)
	case len(name) > maxName:
		l.add(line, "%sname: is longer than %d characters", l.where, maxName)
	case twice:
		l.add(line, "%sname: another job, in line %d, has this name", l.where, first)
	default:
		l.names[name] = line
	}
}

// checkSchedule reads the schedule once the zone is known.
func (l *level) checkSchedule() {
	zone := l.job.schedule.zone
	if zone == nil {
		zone = time.Local
	}
	if !l.hasText {
		return
	}
	s, err := parseSchedule(l.text, zone)
	if err == nil && s.next(l.now).IsZero() {
		err = fmt.Errorf("%q names dates that never come", l.text)
	}
	if err != nil {
		l.add(l.lines["schedule"], "%sschedule: %v", l.where, err)
	}
	l.job.schedule = s
}

// kind names a node for messages.
func kind(node *yaml.Node) string {
	switch node.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "a single value"
}

var errScalar = errors.New("must be a single value")
