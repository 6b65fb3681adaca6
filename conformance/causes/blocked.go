package causes

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// A blocked precondition is a request or a state that checks need and that the target did not provide.
type blocked struct {
	// reason is the reason of the first check.
	reason string
	// kind is equal for preconditions that are one entry if no cause explains them.
	kind string
	// shown is the failed request with its response, in the form of evidence. Its request is "" if neither an exchange nor the reason shows
	// the request.
	shown evidence
	// named are the ids of the checks in the reason: their findings report the precondition.
	named  []string
	checks []string
}

// precondition matches the reason of a check that was blocked by a request: the request and the status of the response.
var precondition = regexp.MustCompile(`^blocked: ([A-Z]+) (/\S*?),? .*?(?:returned (\d{3})|gets no response)`)

// checkID matches the id of a check in a reason.
var checkID = regexp.MustCompile(`\b[a-z]+\.[a-z][a-z0-9-]+\b`)

// reportedBy are reasons without the id of a check, and the check that reports the precondition.
var reportedBy = []struct {
	reason *regexp.Regexp
	check  string
}{
	{regexp.MustCompile(`^a DELETE below /\S+ has no effect`), "delete.gone"},
	{regexp.MustCompile(`without the members that accepted requests have set`), "groups.create"},
}

// member matches the part of a reason that names the attribute of an object.
var member = regexp.MustCompile(` with [^ ]+`)

// blockedOf returns the preconditions that blocked checks, in the order of the result.
func blockedOf(r *conformance.Result) []*blocked {
	var out []*blocked
	index := map[string]*blocked{}
	for _, c := range r.Checks {
		if c.Outcome != conformance.Skip || !strings.HasPrefix(c.Reason, "blocked") && c.BlockedBy == nil {
			continue
		}
		b := &blocked{reason: c.Reason, named: checkID.FindAllString(c.Reason, -1)}
		for _, known := range reportedBy {
			if known.reason.MatchString(c.Reason) {
				b.named = append(b.named, known.check)
			}
		}
		b.kind = member.ReplaceAllString(normalize(c.Reason), "")
		if m := precondition.FindStringSubmatch(c.Reason); m != nil {
			b.shown.request, _ = requestShape(m[1], m[2], "")
			b.shown.status, _ = strconv.Atoi(m[3]) // three digits, or none
			b.kind = b.shown.request + " " + m[3] + " " + strings.Join(b.named, " ")
		}
		if c.BlockedBy != nil && c.BlockedBy.Exchange != nil {
			b.shown = evidenceOf(conformance.Finding{Exchange: c.BlockedBy.Exchange}, r.Target)
		}
		key := strings.Join([]string{b.kind, b.shown.request, strconv.Itoa(b.shown.status), b.shown.answer(), b.shown.form()}, "|")
		if index[key] == nil {
			index[key] = b
			out = append(out, b)
		}
		index[key].checks = append(index[key].checks, c.Check.ID)
	}
	return out
}

// attachBlocked adds each precondition that blocked checks to the cause that explains it: the reason names a check of the cause, a finding
// of the cause shows the same request with the same response, or a known fault explains both. If known is set, most symptoms are those of
// known faults: it adds the others to the fault with the most findings about the same kind of request. For the preconditions without such a
// cause, it returns further ones. found[i] is the cause of groups[i].
func attachBlocked(groups []*group, found []Cause, preconditions []*blocked, byID map[string]*symptom, known bool) []Cause {
	var further []Cause
	entries := map[string]int{}
	for _, b := range preconditions {
		i := slices.IndexFunc(groups, func(g *group) bool { return common(b.named, g.checks) > 0 })
		if i < 0 {
			i = slices.IndexFunc(groups, func(g *group) bool { return g.general.headline != "" && b.readsDocument(g, byID) })
		}
		for _, same := range []func(evidence) bool{b.sameForm, b.sameResponse} {
			if i < 0 {
				i = most(groups, func(g *group) int {
					return number(g.checks, func(id string) bool { return slices.ContainsFunc(byID[id].evidence, same) })
				})
			}
		}
		if i < 0 {
			i = slices.IndexFunc(groups, func(g *group) bool { return b.sameOperator(g, byID) })
		}
		if i < 0 {
			i = most(groups, func(g *group) int { return b.blockedWith(g) })
		}
		if i < 0 && known {
			i = most(groups, b.related)
		}
		if i >= 0 {
			found[i].Blocked = append(found[i].Blocked, b.checks...)
			continue
		}
		if n, ok := entries[b.kind]; ok {
			further[n].Blocked = append(further[n].Blocked, b.checks...)
			continue
		}
		entries[b.kind] = len(further)
		further = append(further, Cause{
			ID:       fmt.Sprintf("blocked.%d", len(further)+1),
			Headline: clip(plain(strings.TrimPrefix(b.reason, "blocked: ")), maxHeadline),
			Outcome:  conformance.Warn,
			Blocked:  b.checks,
			Why:      "The blocked checks need this request or state as a preparation. Without it, they cannot test the target.",
			Fix:      "Correct the response to the request, or provide the state, and run the blocked checks again.",
		})
	}
	return further
}

// answer returns what identifies the error that a response contains: scimType and detail, or the body without variable parts. It is "" for
// a success.
func (e evidence) answer() string {
	switch {
	case e.status < 400:
		return ""
	case e.scimType != "" || e.detail != "":
		return e.scimType + " " + e.detail
	}
	return truncate(variable.ReplaceAllString(e.body, "#"), maxException)
}

// form returns what the request asks for apart from its values: the operation of a PATCH, or the filter.
func (e evidence) form() string {
	if e.operation != "" || e.exchange == nil {
		return e.operation
	}
	u, err := url.Parse(e.exchange.URL)
	if err != nil {
		return ""
	}
	filter := scope.ReplaceAllString(madeUp.ReplaceAllString(u.Query().Get("filter"), ""), "")
	return ownObjects.ReplaceAllString(strings.ToLower(quoted.ReplaceAllString(filter, `""`)), "")
}

// ownObjects matches the part of a form that selects the objects of a check.
var ownObjects = regexp.MustCompile(`^\(id eq ""(?: or id eq "")*\) and `)

// sameForm reports whether a finding shows a request with the same operation or filter as the one that blocked the checks, and the same
// status and scimType. A request that the target must reject is another one, even if only its values differ.
func (b *blocked) sameForm(e evidence) bool {
	return b.shown.form() != "" && e.endpoint == b.shown.endpoint && e.status == b.shown.status && e.scimType == b.shown.scimType &&
		e.form() == b.shown.form() && !e.accepted()
}

// sameResponse reports whether a finding shows the request that blocked the checks, with the same error.
func (b *blocked) sameResponse(e evidence) bool {
	if b.shown.status > 0 && b.shown.status < 400 {
		return false // most successes have no common cause
	}
	return b.shown.request != "" && e.request == b.shown.request && e.status == b.shown.status && e.answer() == b.shown.answer()
}

// lastOperator matches a filter up to its last operator.
var lastOperator = regexp.MustCompile(`.* (eq|ne|co|sw|ew|gt|ge|lt|le|pr)\b`)

// sameOperator reports whether the group contains the check of the operator in the filter that blocked the checks, with a finding that
// shows the same status.
func (b *blocked) sameOperator(g *group, byID map[string]*symptom) bool {
	m := lastOperator.FindStringSubmatch(b.shown.form())
	if m == nil || !slices.Contains(g.checks, "filter."+m[1]) {
		return false
	}
	return slices.ContainsFunc(byID["filter."+m[1]].evidence, func(e evidence) bool {
		return e.request == b.shown.request && e.status == b.shown.status
	})
}

// readsDocument reports whether the reason names a discovery document that is missing according to the group.
func (b *blocked) readsDocument(g *group, byID map[string]*symptom) bool {
	var own []*symptom
	for _, id := range g.checks {
		own = append(own, byID[id])
	}
	missing := missingDocuments(own)
	if strings.Contains(b.reason, "resource types and schemas") {
		return slices.Contains(missing, "/ResourceTypes") || slices.Contains(missing, "/Schemas")
	}
	return slices.ContainsFunc(missing, func(d string) bool { return strings.Contains(b.reason, strings.TrimPrefix(d, "/")) })
}

// blockedWith returns the number of checks that the known fault of the group blocks. It returns 0 if it is in doubt that the group is this
// fault, or if the fault blocks less than half of the checks.
func (b *blocked) blockedWith(g *group) int {
	n := common(b.checks, g.blocks)
	if !g.exact || 2*n < len(b.checks) {
		return 0
	}
	return n
}

// requested are the areas of the checks of a kind of request, with the words of the reasons that name it.
var requested = []struct {
	reason *regexp.Regexp
	area   string
}{
	{regexp.MustCompile(`\bPUT\b|\breplaced\b`), "put"},
	{regexp.MustCompile(`\bPATCH\b|\bpatched\b`), "patch"},
	{regexp.MustCompile(`\bDELETE\b|\bdeleted\b`), "delete"},
	{regexp.MustCompile(`\bPOST\b|\bcreated\b`), "create"},
	{regexp.MustCompile(`\bfilter\b|\bfinds?\b|\bfound\b`), "filter"},
}

// related returns the number of checks of the group that test the kind of request that the reason names.
func (b *blocked) related(g *group) int {
	for _, kind := range requested {
		if kind.reason.MatchString(b.reason) {
			return number(g.checks, func(id string) bool { return strings.HasPrefix(id, kind.area+".") })
		}
	}
	return 0
}

// common returns the number of elements of a that are in b.
func common(a, b []string) int {
	n := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}

// number returns the number of elements for which f returns true.
func number[E any](list []E, f func(E) bool) int {
	n := 0
	for _, x := range list {
		if f(x) {
			n++
		}
	}
	return n
}

// most returns the index of the first group with the greatest positive score, -1 if no score is positive.
func most(groups []*group, score func(*group) int) int {
	best, highest := -1, 0
	for i, g := range groups {
		if n := score(g); n > highest {
			best, highest = i, n
		}
	}
	return best
}
