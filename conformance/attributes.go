package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/counted"
)

// manyAttributes distinguishes two kinds of checks: a check that uses at least this number of attributes of users takes them from the
// target's schema, a check that uses fewer names them itself.
const manyAttributes = 6

// parts returns the parts of a request that can name attributes of users: the request itself, or the operations on users of a bulk request.
// A query over all resource types is included, because its filter may name such an attribute. The result is empty for a request about other
// resources.
func parts(req Request) []Request {
	switch {
	case req.Path == bulkPath:
		var out []Request
		for _, op := range bulkOperations(req.Body) {
			if path := op.target(); aboutUsers(path) {
				out = append(out, Request{Method: strings.ToUpper(op.Method), Path: path, Body: op.Data})
			}
		}
		return out
	case aboutUsers(req.Path), overAllTypes(req.Path):
		return []Request{req}
	}
	return nil
}

// overAllTypes reports whether a path is that of a query over all resource types (RFC 7644 section 3.4.2.1).
func overAllTypes(path string) bool {
	segment := first(path)
	return segment == "" || segment == ".search"
}

// attributesOf returns the attributes of users that requests name: the surveyed ones and the optional ones of RFC 7643, in a fixed order.
// It ignores the default values that the suite puts into every user.
func (s *session) attributesOf(requests []Request) []string {
	var paths []string
	for _, a := range surveyedAttributes(&T{session: s}) {
		paths = append(paths, a.path)
	}
	for _, name := range optional["/Users"] {
		if !slices.Contains(paths, name) {
			paths = append(paths, name)
		}
	}
	used := map[string]bool{}
	for _, req := range requests {
		for _, part := range parts(req) {
			words := map[string]bool{}
			for _, w := range attributeWords(withoutConfigured(withoutDefaults(part), s.opts.Attributes["User"])) {
				words[strings.ToLower(w)] = true
			}
			for _, path := range paths {
				parent, sub, nested := strings.Cut(strings.ToLower(path), ".")
				if words[parent] && (!nested || words[sub]) {
					used[path] = true
				}
			}
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !used[path] })
}

// standingOf returns the standing of an attribute of users: what the target does with a value of the attribute. It returns "" if that is
// unknown.
func (s *session) standingOf(path string) standing {
	known := s.survey.standings[strings.ToLower(path)]
	if known == stored {
		return stored
	}
	if s.undeclared([]Request{{Path: "/Users", Query: url.Values{"attributes": {path}}}}) != "" {
		return undeclared
	}
	return known
}

func (is standing) serves() bool { return is == stored || is == "" }

// ending classifies the result of a check: could an attribute that the target does not store as sent have caused it, and in which way.
type ending int

const (
	unaffected    ending = iota
	accused              // with findings
	blockedByUser        // skipped, because a user could not be created
	notEvaluated         // skipped, because the target does not store an attribute of the fixture as sent
)

// ending returns how the check ended. It returns unaffected after a server error, so that the error is reported.
func (t *T) ending() ending {
	switch t.outcome {
	case Fail, Warn, Info:
		if slices.ContainsFunc(t.findings, func(f Finding) bool {
			return f.Exchange != nil && f.Exchange.Status >= http.StatusInternalServerError
		}) {
			return unaffected
		}
		return accused
	case Skip:
		if strings.HasPrefix(t.reason, "blocked: POST /Users") {
			return blockedByUser
		}
		if strings.Contains(t.reason, "does not store") {
			return notEvaluated
		}
	}
	return unaffected
}

// unfit returns the attributes that the check uses and that the target does not store as sent. A check that uses manyAttributes or more
// takes them from the target's schema: for such a check, unfit returns an attribute only if a finding or its exchange names the attribute.
func (s *session) unfit(ctx context.Context, t *T) []string {
	end := t.ending()
	if end == unaffected || !s.caps.Users {
		return nil
	}
	requests := t.sent
	if end == blockedByUser {
		requests = slices.Concat(t.sent, t.fixtureSent)
	}
	if end == accused {
		// A finding may name an attribute that the requests contain only as a default of every user. attributesOf ignores such defaults.
		for _, f := range t.findings {
			if f.Exchange == nil || !strings.Contains(f.Exchange.URL, "/Groups") {
				requests = append(slices.Clone(requests), Request{Path: "/Users", Query: url.Values{"filter": {f.What}}})
			}
		}
	}
	if end == notEvaluated {
		// The check was skipped before it sent the requests that name the attributes. Its reason and its notes contain the filters of these
		// requests.
		texts := strings.Join(append(slices.Clone(t.notes), t.reason), " ")
		requests = append(slices.Clone(requests), Request{Path: "/Users", Query: url.Values{"filter": {texts}}})
	}
	used := s.attributesOf(requests)
	if len(used) == 0 {
		return nil
	}
	s.surveyOnce(ctx)
	return slices.DeleteFunc(used, func(path string) bool {
		is := s.standingOf(t.substitution.name(path))
		switch {
		case is.serves(), end == blockedByUser && is != rejected:
			return true
		case end == blockedByUser && slices.ContainsFunc(t.substitution.without, func(w string) bool { return strings.EqualFold(w, path) }):
			return true
		}
		return end == accused && len(used) >= manyAttributes && !t.implicates(path)
	})
}

// implicates reports whether a finding or its request names an attribute.
func (t *T) implicates(path string) bool {
	last := path[strings.LastIndex(path, ".")+1:]
	return slices.ContainsFunc(t.findings, func(f Finding) bool {
		texts := f.What + " " + f.Want + " " + f.Got
		if f.Exchange != nil {
			texts += " " + f.Exchange.URL + " " + f.Exchange.RequestBody
			if decoded, err := url.QueryUnescape(f.Exchange.URL); err == nil {
				texts += " " + decoded
			}
		}
		return slices.ContainsFunc(word.FindAllString(texts, -1), func(w string) bool { return strings.EqualFold(w, last) })
	})
}

// substituted returns a substitution with which the run repeats the check, so that the check uses only attributes that the target stores as
// sent. ok is false if the check does not need a substitution, or if no attribute can replace one that it uses.
func (s *session) substituted(ctx context.Context, t *T) (next substitution, ok bool) {
	unfit := s.unfit(ctx, t)
	if len(unfit) == 0 || t.final || s.opts.ReadOnly || s.interruption(ctx) != "" {
		return next, false
	}
	next = substitution{names: maps.Clone(t.substitution.names), without: s.rejectedAttributes()}
	onlyFixture := s.attributesOf(t.sent)
	for _, path := range unfit {
		if t.ending() == blockedByUser && !slices.Contains(onlyFixture, path) {
			continue // no replacement needed: the new fixture omits the attribute
		}
		if !slices.Contains(substitutes, path) || next.names[strings.ToLower(path)] != "" || t.overAllTypes(path) {
			return next, false
		}
		other := s.replacement(t, next, path)
		if other == "" {
			return next, false
		}
		next.swap(path, other)
	}
	return next, next.key() != t.substitution.key()
}

// overAllTypes reports whether the check names an attribute in a query over all resource types, where it may mean an attribute of groups.
func (t *T) overAllTypes(path string) bool {
	var queries []Request
	for _, req := range t.sent {
		if overAllTypes(req.Path) {
			queries = append(queries, req)
		}
	}
	return slices.Contains(t.session.attributesOf(queries), path)
}

// replacement returns an attribute in place of the one at path: the target stores it, the check does not use it, and it has the same
// characteristics. It returns "" if no attribute is suitable.
func (s *session) replacement(t *T, x substitution, path string) string {
	used := s.attributesOf(t.sent)
	definition := s.userAttribute(path)
	for _, name := range substitutes {
		if slices.Contains(used, name) || x.names[strings.ToLower(name)] != "" || s.standingOf(name) != stored {
			continue
		}
		other := s.userAttribute(name)
		same := func(characteristic string) bool {
			a, _ := definition.Get(characteristic)
			b, _ := other.Get(characteristic)
			return show(a) == show(b)
		}
		_, configured := s.opts.Attributes["User"][name]
		alike := definition == nil || other != nil && same("caseExact") && same("uniqueness") && len(other.Array("canonicalValues")) == 0
		if alike && !configured {
			return name
		}
	}
	return ""
}

// rejectedAttributes returns the attributes that make the target reject a new user.
func (s *session) rejectedAttributes() []string {
	var out []string
	for _, a := range surveyedAttributes(&T{session: s}) {
		if s.survey.standings[strings.ToLower(a.path)] == rejected && !strings.Contains(a.path, ".") {
			out = append(out, a.path)
		}
	}
	return out
}

// repeat runs a check again with the substitution of an execution, and returns the T of the repetition. If the check uses a replaced
// attribute in a query over all resource types, where the attribute may be one of groups, repeat returns the first T instead.
func (s *session) repeat(ctx context.Context, e execution, t *T) *T {
	x := e.substitution
	next := s.execute(ctx, e)
	next.requests += t.requests
	next.unserved = t.unserved
	for _, path := range substitutes {
		if x.names[strings.ToLower(path)] != "" && next.overAllTypes(path) {
			t.requests, t.final = next.requests, true
			return t
		}
	}
	used := s.attributesOf(slices.Concat(t.sent, next.sent))
	for _, path := range substitutes {
		other := x.names[strings.ToLower(path)]
		if other == "" || !slices.Contains(used, path) {
			continue
		}
		is := s.standingOf(path)
		next.notes = append(next.notes, fmt.Sprintf("run with %s in place of %s: %s", other, path, is.explain(path)))
		s.survey.count(path, is).replaced++
		next.unserved = append(next.unserved, path)
	}
	for _, path := range x.without {
		next.notes = append(next.notes, fmt.Sprintf("users are created without %s: %s", path, rejected.explain(path)))
	}
	return next
}

// count returns the counters of the checks that were run with another attribute in place of the one at path, or skipped.
func (v *survey) count(path string, is standing) *affectedByStanding {
	if v.affected[path] == nil {
		v.affected[path] = &affectedByStanding{standing: is}
	}
	return v.affected[path]
}

// cautions returns warnings for the report: one for each attribute that the target derives, ignores or rejects, and that a check uses.
func (v *survey) cautions() []string {
	if v == nil {
		return nil
	}
	var out []string
	if v.renamed {
		out = append(out, derived.explain("userName")+" of users: checks that search for a user by the sent userName are skipped")
	}
	for _, path := range slices.Sorted(maps.Keys(v.affected)) {
		a := v.affected[path]
		if slices.Contains([]standing{derived, ignored, rejected, shortened}, a.standing) {
			var effects []string
			if a.replaced > 0 {
				effects = append(effects, counted.Of(a.replaced, "check")+" run with another attribute")
			}
			if a.skipped > 0 {
				effects = append(effects, counted.Of(a.skipped, "check")+" skipped")
			}
			out = append(out, a.standing.explain(path)+" of users: "+strings.Join(effects, ", "))
		}
	}
	return out
}

// settle gives the result of a check its final form. The findings then name the attributes that the requests contained. settle skips a
// check whose findings are about an attribute that the target does not store as sent and that no other attribute can replace.
func (s *session) settle(ctx context.Context, t *T) {
	accusing := t.ending() == accused
	unfit := s.unfit(ctx, t)
	mentioned := t.findings
	t.findings = t.substitution.findings(t.findings)
	skip := func(reason string) {
		t.outcome, t.reason, t.findings, t.notApplicable = Skip, reason, nil, true
	}
	if accusing && len(unfit) > 0 {
		path := unfit[0]
		is := s.standingOf(t.substitution.name(path))
		reason := is.explain(path)
		if slices.Contains(substitutes, path) {
			reason += ", and no other attribute can replace it"
		}
		skip(reason)
		s.survey.count(path, is).skipped++
		t.unserved = append(t.unserved, path)
	} else if accusing {
		if name := s.undeclared(t.sent); name != "" && !slices.Contains(optional["/Users"], name) {
			skip(undeclared.explain(name))
		} else if name := s.configuredAttribute(t.sent, mentioned); name != "" {
			skip(fmt.Sprintf("the check is about %s, which the options of the run add to all objects", name))
		}
	}
	if t.check.Area() == "create" {
		for _, path := range t.unserved {
			s.tell(t, path)
		}
	}
}

// tell adds an informational finding to a check of the area "create": the target derives, ignores or rejects the attribute at path. It adds
// this finding once per run.
func (s *session) tell(t *T, path string) {
	got, known := map[standing]string{
		derived:   "another value, after a POST and after the updates",
		ignored:   "no value, after a POST and after the updates",
		rejected:  "a POST with the attribute is rejected",
		shortened: "the sent values without the sub-attribute type, after a POST and after the updates",
	}[s.standingOf(path)]
	if !known || s.survey.told[path] {
		return
	}
	s.survey.told[path] = true
	want := "the value that the client sent; RFC 7644 section 3.3 permits another one"
	if s.standingOf(path) == rejected {
		want = "a POST with the attribute is accepted"
	}
	t.outcome, t.reason = graver(t.outcome, Info), ""
	t.findings = append(t.findings, Finding{Outcome: Info, What: path + " of a user, which the target " + string(s.standingOf(path)),
		Want: want, Got: got, Exchange: s.survey.evidence[strings.ToLower(path)]})
}
