package cron

import (
	"errors"
	"fmt"
	"strings"
	"time"

	gocron "github.com/netresearch/go-cron"
)

// schedule says when a job is due: at wall-clock times of a zone, or every so
// often. It is a value and safe for concurrent use.
type schedule struct {
	text  string // as written
	zone  *time.Location
	spec  *gocron.SpecSchedule // on wall-clock time written as UTC; nil for every
	every time.Duration        // whole seconds
	// hourly tells that every hour of the day is named. Such a schedule goes
	// by elapsed time: it keeps its pace while the clocks change. Another names
	// times of the day, each of which comes once a day.
	hourly bool
}

// searchYears is how far the next time is looked for. Leap days are eight years
// apart around a year such as 2100.
const searchYears = 9

// accepted is what a schedule can be, for messages.
const accepted = `six fields (second minute hour day month weekday), five (without the second), @hourly, @daily, @weekly, @monthly, @yearly, or @every with a duration such as 90s or 12h`

// parseSchedule reads text as a schedule on the clocks of zone.
func parseSchedule(text string, zone *time.Location) (schedule, error) {
	s := schedule{text: text, zone: zone}
	words := strings.Fields(text)
	if err := refuse(words); err != nil {
		return s, fmt.Errorf("%q %w; accepted: %s", text, err, accepted)
	}
	clean := strings.Join(words, " ")
	if clean[0] == '@' {
		clean = strings.ToLower(clean)
	}
	parsed, err := parser().Parse(clean)
	if err != nil {
		return s, fmt.Errorf("%q cannot be read: %s; accepted: %s", text, plain(err), accepted)
	}
	switch p := parsed.(type) {
	case *gocron.SpecSchedule:
		s.spec = p
		s.hourly = p.Hour&everyHour == everyHour
	case gocron.ConstantDelaySchedule:
		s.every = p.Delay
	}
	return s, nil
}

const everyHour = 1<<24 - 1

func parser() gocron.Parser {
	return gocron.MustNewParser(gocron.SecondOptional | gocron.Minute | gocron.Hour | gocron.Dom |
		gocron.Month | gocron.Dow | gocron.Descriptor | gocron.DowOrDom).WithMaxSearchYears(searchYears)
}

// refuse finds what the parser would take in another sense, or complain about
// in words that only its own users know.
func refuse(words []string) error {
	if len(words) == 0 {
		return errors.New("is empty")
	}
	if strings.HasPrefix(words[0], "TZ=") || strings.HasPrefix(words[0], "CRON_TZ=") {
		return errors.New("names a zone; the key timezone does that")
	}
	if words[0][0] == '@' {
		return refuseEvery(words)
	}
	for _, field := range words {
		if strings.HasPrefix(field, ",") || strings.HasSuffix(field, ",") || strings.Contains(field, ",,") {
			return fmt.Errorf("has a comma in %q with nothing on one side", field)
		}
	}
	return nil
}

func refuseEvery(words []string) error {
	if !strings.EqualFold(words[0], "@every") {
		return nil
	}
	if len(words) != 2 {
		return errors.New("needs one duration after @every")
	}
	d, err := time.ParseDuration(strings.ToLower(words[1]))
	if err != nil {
		return fmt.Errorf("has the duration %q, which cannot be read; use a number with h, m or s, as in 36h", words[1])
	}
	if d < time.Second || d%time.Second != 0 {
		return fmt.Errorf("has the duration %q; it must be whole seconds, at least one", words[1])
	}
	return nil
}

// plain says an error of the parser to people who do not know the parser.
func plain(err error) string {
	text := err.Error()
	if strings.Contains(text, "option") {
		return "the letters H, L and W and the sign # have no meaning here"
	}
	return text
}

// next returns the first time after the given one at which the job is due, or
// the zero time if there is none in the next years.
func (s schedule) next(after time.Time) time.Time {
	switch {
	case s.every > 0:
		return s.nextEvery(after)
	case s.hourly:
		return s.nextElapsed(after)
	}
	return s.nextClock(after)
}

// nextEvery counts from the beginning of 1970 (UTC), so that boxes that share a
// state directory, and a box after a restart, agree on the times.
func (s schedule) nextEvery(after time.Time) time.Time {
	step := int64(s.every / time.Second)
	n := after.Unix() / step
	if after.Unix()%step < 0 {
		n--
	}
	return time.Unix((n+1)*step, 0).In(s.zone)
}

// nextElapsed looks at the wall clock of each stretch of time between two
// changes of the clocks. A wall-clock time that comes twice counts twice, and
// one that is left out is left out.
func (s schedule) nextElapsed(after time.Time) time.Time {
	stretch := after.In(s.zone)
	for from := wallOf(stretch); ; from = wallOf(stretch).Add(-1) {
		wall := s.spec.Next(from)
		if wall.IsZero() {
			return time.Time{}
		}
		at := wall.Add(-offset(stretch))
		_, end := stretch.ZoneBounds()
		if end.IsZero() || at.Before(end) {
			return at.In(s.zone)
		}
		stretch = end
	}
}

// nextClock takes each wall-clock time once: the first of two, and for one that
// is left out the first moment after the gap.
func (s schedule) nextClock(after time.Time) time.Time {
	wall := pastFold(after.In(s.zone))
	for {
		wall = s.spec.Next(wall)
		if wall.IsZero() {
			return time.Time{}
		}
		if m := resolve(wall, s.zone); m.exists && m.at.After(after) {
			return m.at
		}
	}
}

// upcoming returns the next n times after the given one, fewer if there are no
// more.
func (s schedule) upcoming(after time.Time, n int) []time.Time {
	var times []time.Time
	for range n {
		after = s.next(after)
		if after.IsZero() {
			break
		}
		times = append(times, after)
	}
	return times
}
