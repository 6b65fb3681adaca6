package reconcile

import (
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Rule says by what an account of a target and a principal of the directory are taken for the same.
type Rule string

// The rules. Names and addresses are compared without regard to letter case (RFC 7643 section 4.1), identifiers exactly.
const (
	ByExternalID Rule = "externalId"
	ByUserName   Rule = "userName" // of a group: displayName
	ByEmail      Rule = "email"    // any of theirs
)

// Known says whether there is such a rule.
func (r Rule) Known() bool { return slices.Contains([]Rule{ByExternalID, ByUserName, ByEmail}, r) }

// Verdict says whose an account is.
type Verdict string

// The verdicts.
const (
	Linked    Verdict = "linked"    // a principal has it already
	Matched   Verdict = "matched"   // exactly one principal, by a rule
	Ambiguous Verdict = "ambiguous" // several could be meant, or the one has another account: somebody has to say
	Partial   Verdict = "partial"   // only the part before the @ or the whole name agrees: somebody has to look
	Unmatched Verdict = "unmatched" // nobody
	Gone      Verdict = "gone"      // listed by an earlier import, and not by this one
)

// Object is what is compared of an account or group of a target.
type Object struct {
	RemoteID    string
	UserName    string // of a group: displayName
	ExternalID  string
	Emails      []string // the primary one first
	DisplayName string   // as shown to people
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

// Candidate is a principal that an object may belong to.
type Candidate struct {
	ID          string   `json:"id"`       // in the directory
	UserName    string   `json:"userName"` // of a group: displayName
	ExternalID  string   `json:"externalId,omitempty"`
	Emails      []string `json:"emails,omitempty"`
	DisplayName string   `json:"displayName,omitempty"`
}

// Match is whose an object seems to be.
type Match struct {
	Verdict Verdict
	Rule    Rule     // that decided, empty for none
	IDs     []string // of the principals, ascending, each once: one when Matched, one or more when Ambiguous or Partial
}

// Find compares an object with its candidates. The first rule by which any of them agrees decides; values that are empty agree
// with nothing. Only when no rule agrees, and partial is set, it is enough that the part before the @ of a userName or an address,
// or the name shown to people, is the same.
func Find(o Object, candidates []Candidate, rules []Rule, partial bool) Match {
	for _, rule := range rules {
		ids := agreeing(candidates, func(c Candidate) bool { return agrees(rule, o, c) })
		switch len(ids) {
		case 0:
		case 1:
			return Match{Verdict: Matched, Rule: rule, IDs: ids}
		default:
			return Match{Verdict: Ambiguous, Rule: rule, IDs: ids}
		}
	}
	if partial {
		if ids := agreeing(candidates, func(c Candidate) bool { return resembles(o, c) }); len(ids) > 0 {
			return Match{Verdict: Partial, IDs: ids}
		}
	}
	return Match{Verdict: Unmatched}
}

func agreeing(candidates []Candidate, same func(Candidate) bool) (ids []string) {
	for _, c := range candidates {
		if same(c) {
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func agrees(rule Rule, o Object, c Candidate) bool {
	switch rule {
	case ByExternalID:
		return o.ExternalID != "" && o.ExternalID == c.ExternalID
	case ByUserName:
		return same(o.UserName, c.UserName)
	case ByEmail:
		return slices.ContainsFunc(o.Emails, func(e string) bool {
			return slices.ContainsFunc(c.Emails, func(other string) bool { return same(e, other) })
		})
	default:
		return false
	}
}

func resembles(o Object, c Candidate) bool {
	if same(o.DisplayName, c.DisplayName) {
		return true
	}
	theirs := locals(c.UserName, c.Emails)
	return slices.ContainsFunc(locals(o.UserName, o.Emails), func(l string) bool { return slices.Contains(theirs, l) })
}

// locals are the parts before the @, in lower case.
func locals(name string, emails []string) (out []string) {
	for _, text := range append([]string{name}, emails...) {
		if local, _, _ := strings.Cut(text, "@"); local != "" {
			out = append(out, strings.ToLower(local))
		}
	}
	return out
}

func same(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
