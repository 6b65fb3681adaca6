package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A clientSession is a running client flow.
type clientSession struct {
	session *session
	profile Profile
	outline ClientFlow
	prefix  string
	ledger  []*Created
	saved   map[string]string
	kept    map[string]*scim.Object
	savedBy map[string]string // the step that saves each name
	limits  []string
	// stains are the attributes with a wrong value because a step failed, by the path of the resource. touched are the attributes that the
	// request of the current step contains; relative are those of them to which it adds or from which it removes values. blocked is the
	// earlier step whose failure explains a difference of the current step. diagnosed is set after the first symptom of the current step.
	stains            map[string]map[string]stain
	touched, relative map[string]bool
	blocked           string
	diagnosed         bool
	// ineffective is set if an attribute that the current step sets does not have the sent value afterwards. vacuous is set if such an
	// attribute already had that value before the step. writes describes the effects of accepted PUT and PATCH requests, by method and kind
	// of resource.
	ineffective, vacuous bool
	// seen are the last states of resources, and own their attributes for which the target has stored another value than a step sent, both
	// by the path of the resource.
	seen   map[string]*scim.Object
	own    map[string]map[string]bool
	writes map[string]*effects
	// membersSeen is set if any response has contained members of a group. unseen are the findings about members that a response lacked.
	// They are reported only if the target returns members at all.
	membersSeen bool
	unseen      []unseen
	// accepted contains the numbers of the steps to whose request the target returned a 2xx status that the client accepts.
	accepted map[int]bool
	status   map[int]int // the status of the response to each step
	// taken are the shared objects that the flow uses in place of new ones. unshared is the reason why no shared object could be used; the
	// remaining steps are then skipped. unsent is the reason why a step was skipped; no other step depends on that step.
	taken            []*Created
	unshared, unsent string
}

// blockedByStep starts the reason of a step that is skipped because an earlier step failed.
const blockedByStep = blockedPrefix + "the step "

type unseen struct {
	step    int
	finding Finding
	set     bool // the request of the step sets members
}

// runClientFlow runs a client flow and returns the result of each step and the verdict. On an unsteady target, a flow with broken steps is
// run again with new objects: a step that succeeds once is not broken.
func (s *session) runClientFlow(ctx context.Context, number int, p Profile, c ClientFlow, interrupted *string,
	progress func(CheckResult)) ([]CheckResult, ProfileResult) {
	t, results := s.attemptFlow(ctx, fmt.Sprintf("%s-p%d-", s.created.run, number+1), p, c, interrupted, progress)
	for n := 1; n <= maxConfirmations && slices.ContainsFunc(results, broken) && s.unsteady() && s.mayConfirm(ctx); n++ {
		stopped := *interrupted
		again, repeated := s.attemptFlow(ctx, fmt.Sprintf("%s-p%d-%d-", s.created.run, number+1, n+1), p, c, &stopped, func(CheckResult) {})
		for i := range results {
			if s.mergeStep(&results[i], repeated[i]) {
				t.accepted[i], t.status[i] = again.accepted[i], again.status[i]
			}
		}
	}
	for i := range results {
		if broken(results[i]) && s.oftenFails() {
			s.forgive(&results[i])
		}
	}
	return results, t.verdict(results, cmp.Or(*interrupted, t.unshared, t.unsent))
}

// broken reports whether a step breaks the client.
func broken(r CheckResult) bool { return r.Outcome == Warn || r.Outcome == Fail }

// mergeStep replaces the result of a step by that of another attempt, if only that attempt was successful or could run the step. The
// findings of the replaced result are then unsteady.
func (s *session) mergeStep(r *CheckResult, again CheckResult) (replaced bool) {
	ran := again.ran() && again.Outcome != Error
	switch {
	case broken(*r) && ran && !broken(again):
		again.Findings = append(slices.Clone(again.Findings), s.unsteadied(r.Findings)...)
		again.Outcome = graver(again.Outcome, Info)
	case r.Outcome == Skip && strings.HasPrefix(r.Reason, blockedPrefix) && ran:
	default:
		return false
	}
	again.Requests, again.Duration = r.Requests, r.Duration
	*r = again
	return true
}

// unsteadied returns findings that did not occur in another attempt.
func (s *session) unsteadied(findings []Finding) []Finding {
	out := slices.Clone(findings)
	for i := range out {
		if out[i].Outcome != Info {
			out[i].Outcome, out[i].Unsteady = Info, true
			s.unsteadyFindings++
		}
	}
	return out
}

// forgive makes the findings of a step unsteady if all of them are server errors, which may have occurred in each attempt by coincidence.
func (s *session) forgive(r *CheckResult) {
	if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Outcome != Info && !serverError.MatchString(f.Got) }) {
		return
	}
	r.Findings, r.Outcome = s.unsteadied(r.Findings), Info
}

// attemptFlow runs a client flow once. The names of its objects start with the prefix.
func (s *session) attemptFlow(ctx context.Context, prefix string, p Profile, c ClientFlow, interrupted *string,
	progress func(CheckResult)) (*clientSession, []CheckResult) {
	t := &clientSession{
		session: s, profile: p, outline: c, prefix: prefix,
		saved: map[string]string{}, kept: map[string]*scim.Object{}, savedBy: map[string]string{},
		stains: map[string]map[string]stain{}, writes: map[string]*effects{}, accepted: map[int]bool{},
		seen: map[string]*scim.Object{}, own: map[string]map[string]bool{},
		status: map[int]int{},
	}
	for _, step := range c.Steps {
		for name := range step.Save {
			t.savedBy[name] = step.ID
		}
		if step.Keep != "" {
			t.savedBy[step.Keep] = step.ID
		}
	}
	if *interrupted == "" && !s.opts.ReadOnly && s.rights.denied == "" {
		for _, step := range c.Steps {
			s.probeDeletions(ctx, p.check(c, step))
		}
		t.populate(ctx)
		s.probePermission(ctx)
	}
	results := make([]CheckResult, 0, len(c.Steps))
	for i, step := range c.Steps {
		check := p.check(c, step)
		r := CheckResult{Check: check, Outcome: Skip, Reason: s.unmet(check)}
		if s.rights.readOnly && r.Reason == s.rights.denied {
			r.Reason = "" // the client sends the request, and the rejection is what breaks it
		}
		if r.Reason == "" {
			if *interrupted == "" {
				*interrupted = s.interruption(ctx)
			}
			if *interrupted != "" {
				r.Reason = notRun + *interrupted
			} else {
				r = t.runStep(ctx, i, step, check)
				progress(r)
			}
		}
		results = append(results, r)
	}
	if len(t.unseen) > 0 && !t.membersSeen && *interrupted == "" {
		t.control(ctx)
	}
	cleanup, done := s.cleanupContext(ctx)
	defer done()
	s.created.remove(cleanup, t.ledger)
	t.settleMembers(results)
	t.settleEffects(results)
	return t, results
}

// populationRequests is the number of requests that create and remove the objects of populate.
const populationRequests = 4

// populate creates a user and a group that the client does not use. If the target ignores a filter that matches no resource, the response
// contains them. On a target that deletes no objects, populate creates nothing: the objects that the test of DELETE left
// behind have the same purpose. A failure to create the objects is not a finding.
func (t *clientSession) populate(ctx context.Context) {
	c := t.newT()
	c.run(func() {
		if c.Capabilities.Users && t.session.skipReason("/Users") == "" {
			c.Post(ctx, "/Users", c.User("bystander", nil))
		}
		if c.Capabilities.Groups && t.session.skipReason("/Groups") == "" {
			c.Post(ctx, "/Groups", c.Group("bystanders", nil))
		}
	})
}

// control determines whether the target ever returns members of a group, and tries each way to add members. It runs after the steps of a
// flow if a response lacked expected members. If the target never returns members, the missing members are not findings.
func (t *clientSession) control(ctx context.Context) {
	c := t.newT()
	blocked := t.blocked
	defer func() { t.blocked = blocked }()
	t.taken = nil // the flow has ended, so that control may use all shared objects
	c.run(func() {
		user := t.object(ctx, c, "/Users", c.User("control", nil))
		member := []Doc{{"value": user.ID}}
		group := t.object(ctx, c, "/Groups", c.Group("control", Doc{"members": member}))
		ways := []func(){
			func() {},
			func() { c.Patch(ctx, group.Path(), Doc{"op": "add", "path": "members", "value": member}) },
			func() { c.Put(ctx, group.Path(), c.Group("control", Doc{"members": member})) },
		}
		for _, way := range ways {
			way()
			t.recordMembers(c.Get(ctx, group.Path()))
			if t.membersSeen {
				return
			}
		}
	})
}

// newT returns a T for requests that are not a step of the client.
func (t *clientSession) newT() *T {
	return &T{Capabilities: t.session.caps, session: t.session, check: &Check{ID: t.profile.ID, Level: May}, prefix: t.prefix,
		ledger: &t.ledger, outcome: Pass, room: maxHeld}
}

// runStep runs one step.
func (t *clientSession) runStep(ctx context.Context, number int, step Step, check Check) CheckResult {
	s := t.session
	start, before := s.opts.Now(), s.wire.requests
	c := &T{Capabilities: s.caps, session: s, check: &check, prefix: t.prefix, ledger: &t.ledger, outcome: Pass,
		room: maxHeld}
	c.run(func() {
		t.blocked, t.diagnosed, t.ineffective, t.vacuous = "", false, false, false
		request := t.request(c, step)
		t.touches(step, request.Body)
		created := len(t.ledger)
		res := t.send(ctx, c, step, request)
		t.status[number] = res.Status
		t.recordMembers(res)
		switch {
		case slices.Contains(step.Doubtful, res.Status):
			c.Inform("status of "+res.Name, wording(step.Status), res.Status)
			t.limit(fmt.Sprintf("%s returns %d: it is unknown whether the client continues", res.Name, res.Status))
		case !c.Holds(slices.Contains(step.Status, res.Status), "status of "+res.Name, wording(step.Status), res.Status):
			t.diagnose(c, symptom{step: step, res: res})
			t.undo(ctx, created)
			t.stain(ctx, c, step)
			return
		}
		t.accepted[number] = res.OK()
		if res.OK() && res.Status != http.StatusNoContent && len(step.Answer.Contains)+len(step.Answer.Keeps) > 0 {
			if !c.Holds(res.Object() != nil, "body of "+res.Name, "a JSON object", string(res.Body)) {
				return
			}
			t.compare(c, number, location{name: "the response to " + res.Name, path: request.Path, res: res, step: step}, step.Answer, res.Object())
		}
		if step.Within != "" {
			t.within(ctx, c, step, request, res)
		}
		for _, name := range slices.Sorted(maps.Keys(step.Save)) {
			member := step.Save[name]
			if text := res.Object().Text(member); c.Holds(text != "", member+" in the response to "+res.Name, "a non-empty string", text) {
				t.saved[name] = text
			}
		}
		if step.Keep != "" && res.Object() != nil {
			t.kept[step.Keep] = res.Object()
		}
		for _, state := range step.State {
			t.check(ctx, c, number, step, state)
		}
		t.recordEffect(number, step)
		if t.blocked != "" {
			reason := blockedByStep + t.blocked + ", on which this step depends, failed"
			if step.Method == http.MethodGet || len(t.relative) > 0 {
				c.Skip(reason)
			}
			c.Note("not verified completely: %s", strings.TrimPrefix(reason, blockedPrefix))
		}
	})
	return CheckResult{
		Check: check, Outcome: c.outcome, Reason: c.reason, Findings: c.findings, Notes: c.notes,
		Requests: s.wire.requests - before, Duration: s.opts.Now().Sub(start),
	}
}

// undo removes the objects that the current step has created although the client expects an error. Otherwise later steps would find them.
func (t *clientSession) undo(ctx context.Context, created int) {
	if created < len(t.ledger) {
		t.session.created.remove(ctx, t.ledger[created:])
	}
}

// stain reads the state after a request that the target has rejected, and records the attributes with a wrong value. They are not findings,
// because the rejection is one.
func (t *clientSession) stain(ctx context.Context, c *T, step Step) {
	for _, state := range step.State {
		path := t.fill(c, state.Path)
		res, err := t.session.wire.call(ctx, Request{Method: http.MethodGet, Path: path, Query: t.query(c, state.Query)}, false)
		if err != nil || !res.OK() {
			return
		}
		contains, _ := t.filled(c, state.Answer.Contains).(Doc)
		for name, want := range contains {
			value, _ := res.Object().Get(name)
			if _, known := t.stainsOf(path)[name]; !known && len(differences("", Doc{name: want}, res.Object())) > 0 {
				t.stainsOf(path)[name] = stain{value, step.ID}
			}
		}
	}
}

// request returns the request of a step with the placeholders replaced.
func (t *clientSession) request(c *T, step Step) Request {
	req := Request{Method: step.Method, Path: t.fill(c, step.Path), Query: t.query(c, step.Query), Header: step.Header}
	switch {
	case step.Base != "":
		base := t.kept[step.Base]
		if base == nil {
			c.Skip("blocked: the step " + t.savedBy[step.Base] + " received no resource to change")
		}
		body := base.Clone()
		for name, value := range t.filled(c, step.Body).(Doc) {
			body.Set(name, jsonValue(value))
		}
		req.Body = body
	case step.Body != nil:
		req.Body = t.filled(c, step.Body)
	}
	return req
}

func (t *clientSession) query(c *T, query []string) map[string][]string {
	filled := make([]string, len(query))
	for i, q := range query {
		filled[i] = t.fill(c, q)
	}
	return pairs(filled)
}

var placeholder = regexp.MustCompile(`\$\{([a-z]+)(?::([a-z0-9-]+))?\}`)

// fill replaces the placeholders of a string. If an earlier step has not saved a value for a placeholder, fill skips the step as blocked.
func (t *clientSession) fill(c *T, text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		switch name := parts[1]; name {
		case "run":
			return t.prefix
		case "mail":
			return c.UserName(parts[2])
		case "upper":
			return strings.ToUpper(c.UserName(parts[2]))
		default:
			value, ok := t.saved[name]
			if !ok {
				c.Skip("blocked: the step " + t.savedBy[name] + " did not save the required value")
			}
			return value
		}
	})
}

// filled returns a copy of a value with the placeholders of every string replaced.
func (t *clientSession) filled(c *T, v any) any {
	switch v := v.(type) {
	case Doc:
		out := Doc{}
		for name, value := range v {
			out[t.fill(c, name)] = t.filled(c, value)
		}
		return out
	case []Doc:
		out := make([]any, len(v))
		for i := range v {
			out[i] = t.filled(c, v[i])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = t.filled(c, v[i])
		}
		return out
	case ContainsAll:
		out := make(ContainsAll, len(v))
		for i := range v {
			out[i] = t.filled(c, v[i])
		}
		return out
	case []string:
		out := make([]any, len(v))
		for i := range v {
			out[i] = t.fill(c, v[i])
		}
		return out
	case string:
		return t.fill(c, v)
	default:
		return v
	}
}

// check verifies a state. If the response contains no members, check requests the attribute members explicitly before it counts them as
// missing.
func (t *clientSession) check(ctx context.Context, c *T, number int, step Step, state State) {
	req := Request{Method: http.MethodGet, Path: t.fill(c, state.Path), Query: t.query(c, state.Query)}
	res := c.Call(ctx, req)
	t.recordMembers(res)
	status := state.Status
	if status == 0 {
		status = http.StatusOK
	}
	if !c.Holds(res.Status == status, "status of "+res.Name+" after the step", fmt.Sprint(status), res.Status) {
		t.diagnose(c, symptom{step: step, res: res, state: true})
		return
	}
	if !res.OK() {
		return
	}
	at := location{name: "the state after the step", path: req.Path, res: res, step: step, state: true}
	if expectsElements(state.Answer.Contains["members"]) && len(res.Object().Array("members")) == 0 {
		req.Query = pairs([]string{"attributes", "members"})
		if again := c.Call(ctx, req); again.OK() && len(again.Object().Array("members")) > 0 {
			t.recordMembers(again)
			merged := res.Object().Clone()
			merged.Set("members", again.Object().Array("members"))
			t.compare(c, number, at, state.Answer, merged)
			return
		}
	}
	t.compare(c, number, at, state.Answer, res.Object())
}

// expectsElements reports whether an expectation is a list that must not be empty.
func expectsElements(want any) bool {
	switch want := want.(type) {
	case []Doc:
		return len(want) > 0
	case ContainsAll:
		return len(want) > 0
	}
	return false
}

// recordMembers records whether a response shows members of a group.
func (t *clientSession) recordMembers(res *Response) {
	for _, o := range append(res.Resources(), res.Object()) {
		t.membersSeen = t.membersSeen || len(o.Array("members")) > 0
	}
}

// A location is where an expectation applies: the response to a step, or the state after the step.
type location struct {
	name  string
	path  string // of the resource or the collection
	res   *Response
	step  Step
	state bool
}

// compare records the differences between an expectation and an object, except those that the failure of an earlier step explains.
func (t *clientSession) compare(c *T, number int, at location, want Expectation, got *scim.Object) {
	contains, _ := t.filled(c, want.Contains).(Doc)
	keeps := Doc{}
	if filled, ok := t.filled(c, want.Keeps).(Doc); ok {
		maps.Copy(keeps, filled)
	}
	for _, name := range slices.Sorted(maps.Keys(contains)) {
		value, _ := got.Get(name)
		found := differences("", Doc{name: contains[name]}, got)
		found = slices.DeleteFunc(found, func(d difference) bool { return t.tolerates(c, at, name, d, got) })
		if len(found) > 0 {
			delete(keeps, name) // one finding about each member
		}
		if len(found) == 0 {
			if _, stained := t.stainsOf(at.path)[name]; stained && at.state {
				t.vacuous = t.vacuous || t.touched[name]
				delete(t.stainsOf(at.path), name)
			}
			continue
		}
		cause := t.consequence(at.path, name, value)
		if name == "Resources" && cause == "" {
			cause = t.listConsequence(at.path, contains[name], value)
		}
		if cause != "" {
			t.blocked = cause
			if at.state {
				t.stainsOf(at.path)[name] = stain{value, cause}
			}
			continue
		}
		if at.state && t.touched[name] {
			t.ineffective = true
		}
		if at.state {
			t.stainsOf(at.path)[name] = stain{value, at.step.ID}
		}
		for _, d := range found {
			what := d.path + " in " + at.name
			t.diagnose(c, symptom{step: at.step, res: at.res, state: at.state, path: d.path, want: d.want, got: d.got, touched: t.touched[name]})
			if d.path == "members" && empty(d.got) {
				t.unseen = append(t.unseen, unseen{number, Finding{
					Outcome: c.check.Level.Violation(), What: what, Want: describeExpectation(d.want), Got: show(d.got),
					Exchange: c.last}, t.touched["members"]})
				continue
			}
			c.Holds(false, what, describeExpectation(d.want), d.got)
		}
	}
	if at.state || at.step.Method == http.MethodGet {
		t.seen[at.path] = got
	}
	for _, d := range differences("", keeps, got) {
		c.Inform(d.path+" in "+at.name, describeExpectation(d.want), d.got)
		if t.own[at.path][d.path] {
			continue // already a limit
		}
		if kind, ok := d.want.(Kind); ok {
			t.limit(d.path + " in " + at.name + " is not " + string(kind))
			continue
		}
		t.limit(d.path + " is not in " + at.name + " with the value that was sent")
	}
}

// listConsequence is consequence for the resources of a list: it returns the step whose failure explains why one of them differs.
func (t *clientSession) listConsequence(collection string, want, got any) string {
	expected, _ := want.([]any)
	list, _ := got.([]any)
	if len(expected) != len(list) {
		return ""
	}
	cause := ""
	for _, e := range expected {
		doc, _ := e.(Doc)
		i := slices.IndexFunc(list, func(g any) bool { o := object(g); return o != nil && o.Text("id") == doc["id"] })
		if i < 0 {
			return ""
		}
		resource := object(list[i])
		for _, name := range slices.Sorted(maps.Keys(doc)) {
			value, _ := resource.Get(name)
			if len(differences("", Doc{name: doc[name]}, resource)) == 0 {
				continue
			}
			if cause = t.consequence(collection+"/"+resource.Text("id"), name, value); cause == "" {
				return ""
			}
		}
	}
	return cause
}

func (t *clientSession) limit(text string) {
	if !slices.Contains(t.limits, text) {
		t.limits = append(t.limits, text)
	}
}

// settleMembers adds findings for members that responses did not contain, if the target returns members at all. If it does not, the steps
// whose memberships could not be verified, and those that depend on them, are blocked.
func (t *clientSession) settleMembers(results []CheckResult) {
	unverified := map[string]bool{} // the steps without a finding whose memberships could not be verified
	for _, u := range t.unseen {
		r := &results[u.step]
		if t.membersSeen {
			r.Findings = append(r.Findings, u.finding)
			r.Outcome = graver(r.Outcome, u.finding.Outcome)
			continue
		}
		t.limit("the target never shows the members of a group: changes of memberships could not be verified")
		if u.set && len(r.Findings) == 0 {
			unverified[t.outline.Steps[u.step].ID] = true
			r.Outcome, r.Reason = Skip, withoutMembers
		}
	}
	for i := range results {
		r := &results[i]
		step, depends := strings.CutPrefix(r.Reason, blockedByStep)
		step, _, _ = strings.Cut(step, ",")
		if depends && unverified[step] {
			r.Reason = withoutMembers
		}
	}
}

// verdict returns the verdict on the client flow: whether the client's provisioning works.
func (t *clientSession) verdict(results []CheckResult, interrupted string) ProfileResult {
	v := ProfileResult{
		Profile: t.profile.ID, ClientFlow: t.outline.ID, Client: t.profile.Client, Title: t.outline.Title,
		Compatibility: Works, Doubt: t.profile.Doubt,
	}
	ran := 0
	for i, r := range results {
		step := t.outline.Steps[i]
		switch {
		case r.Outcome == Warn, r.Outcome == Fail:
			v.Breaks = append(v.Breaks, brokenStep(step, r))
		case r.Outcome == Error && v.Reason == "":
			v.Reason = r.Reason
		case r.Outcome == Info && slices.Contains(step.Doubtful, t.status[i]) && len(r.Findings) == 1:
			// The only finding is the doubtful status, which runStep has recorded as a limit.
		case r.Outcome == Info && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Unsteady }):
			// Only findings that did not occur again.
		case r.Outcome == Info && step.Limit != "":
			if step.Unmet != "" && t.accepted[i] {
				t.limit(step.Unmet)
			} else {
				t.limit(step.Limit)
			}
		case r.Outcome == Skip && interrupted == "" && strings.HasPrefix(r.Reason, "blocked"):
			v.Untried++
		case r.Outcome == Skip && !r.ran() && interrupted == "":
			t.limit(r.Reason)
		}
		if r.ran() {
			ran++
		}
	}
	switch {
	case len(v.Breaks) > 0:
		v.Compatibility, v.Reason = Breaks, ""
	case interrupted != "":
		v.Compatibility, v.Reason = UnknownCompatibility, interrupted
	case ran == 0:
		v.Compatibility, v.Reason = UnknownCompatibility, "no step could run: "+results[0].Reason
	case v.Reason != "":
		v.Compatibility = UnknownCompatibility
	case len(t.limits) > 0:
		v.Compatibility = WorksWithLimits
	}
	if v.Compatibility != UnknownCompatibility {
		v.Limits = t.limits
	}
	return v
}

// brokenStep describes a step that fails.
func brokenStep(step Step, r CheckResult) BrokenStep {
	b := BrokenStep{Check: r.Check.ID, Action: step.Title, Why: r.Check.Why, Fix: r.Check.Fix}
	if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Outcome == r.Outcome }); i >= 0 {
		b.Finding = r.Findings[i]
	}
	return b
}
