package clientgrade

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/scim"
)

// A State is the state of a server: its users and groups as SCIM resources. The resources have ids, and groups have their members.
type State struct {
	Users, Groups []*scim.Resource
}

// Grade compares the state of a server and the exchanges that led to it with the expectations of the scenario. The result has one check for
// every expectation of the scenario's contract, followed by those of [observed.ClientChecks].
//
// The verdict is Untested if the client sent nothing.
func Grade(s Scenario, held State, base string, exchanges []observed.Exchange) *conformance.Result {
	exchanges = slices.Clone(exchanges)
	slices.SortStableFunc(exchanges, func(a, b observed.Exchange) int { return a.At.Compare(b.At) })
	result := observed.Judge(base, exchanges, observed.ClientChecks())
	if len(exchanges) == 0 {
		result.Reason = "the client sent nothing"
		return result
	}
	g := &grading{scenario: s, held: held, exchanges: exchanges, shown: func(i int) conformance.Sent { return result.Traffic[i] }}
	var graded []conformance.CheckResult
	expected := s.Contract.expectations()
	if len(s.Profiles) > 0 {
		expected = append(expected, profileRequests())
	}
	for _, e := range expected {
		g.check, g.concerned, g.findings = e.Check, false, nil
		e.judge(g)
		graded = append(graded, g.outcome())
	}
	result.Checks = append(graded, result.Checks...)
	result.Verdict = conformance.Clean
	if result.Count(conformance.Fail)+result.Count(conformance.Warn) > 0 {
		result.Verdict = conformance.Findings
	}
	return result
}

// Expectations returns the checks that [Grade] adds under any of the contracts, for lists and explanations.
func Expectations() []conformance.Check {
	var out []conformance.Check
	for _, e := range slices.Concat(expectations(), Catalog.listed(), []expectation{profileRequests()}) {
		out = append(out, e.Check)
	}
	return out
}

// An expectation is a check of all requests of a client.
type expectation struct {
	conformance.Check
	judge func(g *grading)
}

// A grading is the evaluation of one expectation.
type grading struct {
	scenario  Scenario
	held      State
	exchanges []observed.Exchange
	shown     func(i int) conformance.Sent // returns the redacted exchange with this number

	check     conformance.Check
	concerned bool
	findings  []conformance.Finding
}

// maxFindings is the maximum number of stored findings of an expectation.
const maxFindings = 20

// holds records a finding if ok is false. at is the number of the exchange that shows the finding, or -1 if no single exchange shows it.
func (g *grading) holds(ok bool, at int, what, want, got string) {
	g.concerned = true
	if ok || len(g.findings) == maxFindings {
		return
	}
	f := conformance.Finding{Outcome: g.check.Level.Violation(), What: what, Want: want, Got: got}
	if at >= 0 {
		f.Exchange = g.shown(at).Exchange
	}
	g.findings = append(g.findings, f)
}

func (g *grading) outcome() conformance.CheckResult {
	r := conformance.CheckResult{Check: g.check, Outcome: conformance.Pass, Findings: g.findings}
	switch {
	case len(g.findings) > 0:
		r.Outcome = g.check.Level.Violation()
	case !g.concerned:
		r.Outcome, r.Reason = conformance.Skip, "not applicable to any exchange"
	}
	return r
}

// users returns the users with that name.
func (g *grading) users(name string) []*scim.Resource {
	return named(g.held.Users, "userName", name)
}

func named(all []*scim.Resource, attribute, name string) []*scim.Resource {
	var out []*scim.Resource
	for _, r := range all {
		if strings.EqualFold(r.Text(attribute), name) {
			out = append(out, r)
		}
	}
	return out
}

// values returns the values of a resource at a path. For a multi-valued attribute these are the values of all elements.
func values(r *scim.Resource, path string) []any {
	p, err := scim.ParseAttrPath(path)
	if err != nil {
		return nil
	}
	at := &r.Object
	if p.URN != "" {
		if at = r.Complex(p.URN); at == nil {
			return nil
		}
	}
	v, _ := at.Get(p.Name)
	list, many := v.([]any)
	if !many {
		list = []any{v}
	}
	if p.Sub == "" {
		return list
	}
	var out []any
	for _, item := range list {
		if o, ok := item.(*scim.Object); ok {
			if sub, there := o.Get(p.Sub); there {
				out = append(out, sub)
			}
		}
	}
	return out
}

// has reports whether a resource has a value at a path. It ignores the case of strings, because servers may change it.
func has(r *scim.Resource, path string, want any) bool {
	wanted, err := scim.Value(want)
	if err != nil {
		return false
	}
	found := values(r, path)
	if len(found) == 0 {
		found = []any{nil}
	}
	return slices.ContainsFunc(found, func(v any) bool {
		a, aText := v.(string)
		b, bText := wanted.(string)
		assumed := v == nil && wanted == true && strings.EqualFold(path, "active") // an absent active means true
		return aText && bText && strings.EqualFold(a, b) || scim.Equal(v, wanted) || assumed
	})
}

// sent decodes the body of a request. It returns nil if the body is not a JSON object.
func sent(x observed.Exchange) *scim.Object {
	o, err := scim.Decode([]byte(x.RequestBody))
	if err != nil {
		return nil
	}
	return o
}

// creates returns the collection and the name, in lower case, of the resource that a request creates.
func creates(x observed.Exchange) (collection, name string) {
	if x.Method != http.MethodPost {
		return "", ""
	}
	switch x.Path {
	case "/Users":
		return x.Path, strings.ToLower(sent(x).Text("userName"))
	case "/Groups":
		return x.Path, strings.ToLower(sent(x).Text("displayName"))
	}
	return "", ""
}

// asks reports whether a request reads a collection or one of its resources.
func asks(x observed.Exchange, collection string) bool {
	return x.Method == http.MethodGet && (x.Path == collection || strings.HasPrefix(x.Path, collection+"/")) ||
		x.Method == http.MethodPost && x.Path == collection+"/.search"
}

// lost reports whether the client cannot know whether a request took effect.
func lost(x observed.Exchange) bool {
	return x.Status == 0 || x.Err != "" || x.Status >= 500 && x.Status != http.StatusNotImplemented
}

func describe(v any) string { return string(scim.AppendValue(nil, v)) }

func list(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func count(n int) string { return fmt.Sprintf("%d of them", n) }
