package drift

import (
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// Object has the compared values of an account or group of a target.
type Object struct {
	RemoteID    string
	UserName    string // of a group: displayName
	ExternalID  string
	Emails      []string // the primary address first
	DisplayName string   // human-readable
}

// ObjectOf reads an object from a resource.
func ObjectOf(r *scim.Resource) Object {
	o := Object{RemoteID: r.ID(), UserName: r.Text("userName"), ExternalID: r.ExternalID(), DisplayName: r.Text("displayName")}
	if o.UserName == "" {
		o.UserName = o.DisplayName
	}
	if o.DisplayName == "" {
		name := r.Complex("name")
		if o.DisplayName = name.Text("formatted"); o.DisplayName == "" {
			o.DisplayName = strings.TrimSpace(name.Text("givenName") + " " + name.Text("familyName"))
		}
	}
	for _, v := range r.Array("emails") {
		e, _ := v.(*scim.Object)
		address := e.Text("value")
		switch primary, _ := e.Bool("primary"); {
		case address == "":
		case primary:
			o.Emails = slices.Insert(o.Emails, 0, address)
		default:
			o.Emails = append(o.Emails, address)
		}
	}
	return o
}

// Match is the result of matching an object to principals.
type Match struct {
	Verdict engine.Verdict
	Rule    engine.MatchRule // rule that matched, empty if no rule did
	IDs     []string         // unique and ascending: one when Matched, one or more when Ambiguous or Partial
}

// Find compares an object with its candidates. The first rule that matches a candidate decides; empty values match nothing. If no rule
// matches and partial is set, these are partial matches: an equal display name, or a userName or email address of both with an equal part
// before the @.
func Find(o Object, candidates []engine.Candidate, rules []engine.MatchRule, partial bool) Match {
	for _, rule := range rules {
		ids := agreeing(candidates, func(c engine.Candidate) bool { return agrees(rule, o, c) })
		switch len(ids) {
		case 0:
		case 1:
			return Match{Verdict: engine.VerdictMatched, Rule: rule, IDs: ids}
		default:
			return Match{Verdict: engine.VerdictAmbiguous, Rule: rule, IDs: ids}
		}
	}
	if partial {
		if ids := agreeing(candidates, func(c engine.Candidate) bool { return resembles(o, c) }); len(ids) > 0 {
			return Match{Verdict: engine.VerdictPartial, IDs: ids}
		}
	}
	return Match{Verdict: engine.VerdictUnmatched}
}

func agreeing(candidates []engine.Candidate, same func(engine.Candidate) bool) (ids []string) {
	for _, c := range candidates {
		if same(c) {
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func agrees(rule engine.MatchRule, o Object, c engine.Candidate) bool {
	switch rule {
	case engine.MatchExternalID:
		return o.ExternalID != "" && o.ExternalID == c.ExternalID
	case engine.MatchUserName:
		return same(o.UserName, c.UserName)
	case engine.MatchEmail:
		return slices.ContainsFunc(o.Emails, func(e string) bool {
			return slices.ContainsFunc(c.Emails, func(other string) bool { return same(e, other) })
		})
	default:
		return false
	}
}

func resembles(o Object, c engine.Candidate) bool {
	if same(o.DisplayName, c.DisplayName) {
		return true
	}
	theirs := locals(c.UserName, c.Emails)
	return slices.ContainsFunc(locals(o.UserName, o.Emails), func(l string) bool { return slices.Contains(theirs, l) })
}

// locals returns the parts before the @ of the name and the addresses, in lower case.
func locals(name string, emails []string) (out []string) {
	for _, text := range append([]string{name}, emails...) {
		if local, _, _ := strings.Cut(text, "@"); local != "" {
			out = append(out, strings.ToLower(local))
		}
	}
	return out
}

func same(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
