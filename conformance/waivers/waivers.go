// Package waivers reads the list of findings that somebody has accepted for now, and applies it to the result of a run. A
// waiver has a reason, may have a ticket and a last day, and never hides anything: reports show what it excuses and why. It is
// not a way to select checks; those that should not run at all are left out of the run.
package waivers

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/scimwright/scimwright/conformance"
)

// A List holds waivers in the order of their file. nil excuses nothing.
type List []Entry

// An Entry is a waiver with its matcher compiled.
type Entry struct {
	conformance.Waiver
	match *regexp.Regexp // nil matches every finding of the check
}

// The form of the file.
type (
	file struct {
		Waivers []row `yaml:"waivers"`
	}
	row struct {
		Check   string `yaml:"check"`
		Match   string `yaml:"match"`
		Reason  string `yaml:"reason"`
		Ticket  string `yaml:"ticket"`
		Owner   string `yaml:"owner"`
		Expires string `yaml:"expires"`
	}
)

// Read reads a YAML or JSON file: an object whose member «waivers» lists objects with the members check (an id), reason, and
// optionally match (a regular expression on what a finding looked at, expected or got), ticket, owner and expires (a day such
// as 2026-12-31). Whatever is wrong in it, an unknown check included, is a [*conformance.UsageError]: a waiver that excuses
// nothing because of a slip must not look like one that does.
func Read(path string, known []conformance.Check) (List, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &conformance.UsageError{Problem: fmt.Sprintf("the waivers cannot be read: %v", err)}
	}
	list, problem := parse(data, known)
	if problem != "" {
		return nil, &conformance.UsageError{Problem: path + ": " + problem}
	}
	return list, nil
}

func parse(data []byte, known []conformance.Check) (list List, problem string) {
	var f file
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return nil, "this is no list of waivers: " + line
	}
	if len(f.Waivers) == 0 {
		return nil, "there are no waivers in it: it needs a member «waivers» with a list"
	}
	ids := map[string]bool{}
	for _, c := range known {
		ids[c.ID] = true
	}
	for i, r := range f.Waivers {
		where := fmt.Sprintf("waiver %d (%s)", i+1, r.Check)
		entry := Entry{
			Waiver: conformance.Waiver{Check: r.Check, Match: r.Match, Reason: strings.TrimSpace(r.Reason), Ticket: r.Ticket, Owner: r.Owner}}
		switch {
		case !ids[r.Check]:
			return nil, where + ": no check has this id"
		case entry.Reason == "":
			return nil, where + ": the reason is missing"
		}
		var err error
		if r.Match != "" {
			if entry.match, err = regexp.Compile(r.Match); err != nil {
				return nil, fmt.Sprintf("%s: match is no regular expression: %v", where, err)
			}
		}
		if r.Expires != "" {
			if entry.Expires, err = time.Parse(time.DateOnly, r.Expires); err != nil {
				return nil, fmt.Sprintf("%s: expires is not a day such as 2026-12-31: %q", where, r.Expires)
			}
		}
		list = append(list, entry)
	}
	return list, ""
}

// Apply marks the findings that the list excuses on the given day and draws the verdict anew. An expired waiver excuses
// nothing and is a complaint of its own, which fails the run. When strict is set, so is one that excuses nothing though its
// check ran: it should go, or it will excuse the next fault.
func (l List) Apply(r *conformance.Result, now time.Time, strict bool) {
	for _, entry := range l {
		if entry.expired(now) {
			r.Complaints = append(r.Complaints,
				fmt.Sprintf("the waiver of %s expired on %s: %s", entry.Check, entry.Expires.Format(time.DateOnly), entry.Reason))
			continue
		}
		used, ran := entry.excuse(r)
		if strict && ran && !used {
			r.Complaints = append(r.Complaints,
				fmt.Sprintf("the waiver of %s excuses nothing: the fault is mended, and the waiver should go", entry.Check))
		}
	}
	r.Conclude()
}

// expired tells whether the last day of the waiver is over everywhere west of UTC-12 as well: nobody is surprised at noon.
func (e Entry) expired(now time.Time) bool {
	return !e.Expires.IsZero() && !now.UTC().Before(e.Expires.AddDate(0, 0, 1))
}

// excuse marks the findings that the waiver is about.
func (e Entry) excuse(r *conformance.Result) (used, ran bool) {
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Check.ID != e.Check {
			continue
		}
		ran = ran || c.Outcome != conformance.Skip && c.Outcome != conformance.Error
		for j := range c.Findings {
			f := &c.Findings[j]
			if f.Outcome == conformance.Info || f.Waiver != nil || !e.matches(*f) {
				continue
			}
			f.Waiver = &e.Waiver
			used = true
		}
	}
	return used, ran
}

func (e Entry) matches(f conformance.Finding) bool {
	return e.match == nil || e.match.MatchString(f.What) || e.match.MatchString(f.Want) || e.match.MatchString(f.Got)
}
