// Package waivers reads a list of findings that are temporarily accepted, and applies it to the result of a run. A waiver has a reason and
// may have a ticket and an expiration date. Waived findings are not hidden: reports show them with the reason. The package does not select
// checks; use the selection of the run for that.
package waivers

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/internal/similar"
)

// A List contains waivers in the order of their file. A nil List waives nothing.
type List []Entry

// An Entry is a waiver with its compiled regular expression.
type Entry struct {
	conformance.Waiver
	match *regexp.Regexp // nil matches every finding of the check
}

// The format of the file.
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

// Read reads a YAML or JSON file: an object with the member "waivers", a list of objects with the members check (an id), reason, and
// optionally match (a regular expression for the What, Want or Got of a finding), ticket, owner and expires (a day such as 2026-12-31).
// Every error in the file is a [*conformance.UsageError]. An unknown check is an error too, because a waiver with a typing error would
// silently waive nothing.
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
		return nil, "not a list of waivers: " + line
	}
	if len(f.Waivers) == 0 {
		return nil, "no waivers in the file: it needs a member \"waivers\" with a list"
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
			return nil, where + ": unknown check" + similar.Hint(r.Check, slices.Sorted(maps.Keys(ids)))
		case entry.Reason == "":
			return nil, where + ": reason is missing"
		}
		var err error
		if r.Match != "" {
			if entry.match, err = regexp.Compile(r.Match); err != nil {
				return nil, fmt.Sprintf("%s: match is not a regular expression: %v", where, err)
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

// Apply marks the findings that the list waives at the time now, and sets the verdict again. An expired waiver waives nothing and adds a
// complaint, which fails the run. If strict is set, Apply also adds a complaint for each waiver that matches no finding although its check
// ran. Such a waiver should be deleted, because it would waive the next violation.
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
				fmt.Sprintf("the waiver of %s matches no finding: remove it, the violation is fixed", entry.Check))
		}
	}
	r.Conclude()
}

// expired reports whether the last day of the waiver, in UTC, is over.
func (e Entry) expired(now time.Time) bool {
	return !e.Expires.IsZero() && !now.UTC().Before(e.Expires.AddDate(0, 0, 1))
}

// excuse marks the findings that the waiver matches. used reports whether the waiver matched a finding, ran
// whether the check ran.
func (e Entry) excuse(r *conformance.Result) (used, ran bool) {
	for c := range r.All() {
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
