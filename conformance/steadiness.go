package conformance

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Steadiness describes whether the target returns the same result for the same request. The zero value means that it does.
type Steadiness struct {
	// UnstableOrder reports whether lists without sortBy changed their order from request to request. RFC 7644 section 3.4.2.3 defines an
	// order only for lists with sortBy.
	UnstableOrder bool
	// Visibility is the time until a created object could be read and found. 0 means immediately.
	Visibility time.Duration
	// Requests is the number of requests of the run. Repeated is the number of those that failed and had another result when the run repeated
	// them. Repeats contains the first of these.
	Requests, Repeated int
	Repeats            []Repeat
	// Slow is the number of requests that timed out and got a response when the run repeated them with a longer timeout, after a time that
	// is long compared with the other requests. They are not unsteady: the target needs long for each of them.
	Slow int
	// UnsteadyFindings is the number of findings that did not occur again; see [Finding.Unsteady].
	UnsteadyFindings int
}

// Steady reports whether, as far as the run has detected, equal requests had equal results.
func (s Steadiness) Steady() bool {
	return !s.UnstableOrder && s.Visibility == 0 && s.Repeated == 0 && s.UnsteadyFindings == 0
}

// Sentences returns one line for each kind of unsteadiness, without a final period.
func (s Steadiness) Sentences() []string {
	var out []string
	if s.UnstableOrder {
		out = append(out, "lists: the order changes from request to request")
	}
	if s.Visibility > 0 {
		out = append(out, fmt.Sprintf("writes: visible after %s", s.Visibility.Round(time.Millisecond)))
	}
	if s.Repeated > 0 {
		out = append(out, fmt.Sprintf("responses: %s of %s requests failed and had another result when repeated", grouped(s.Repeated),
			grouped(s.Requests)))
	}
	if s.Slow > 0 {
		out = append(out, fmt.Sprintf("responses: %s of %s requests exceeded the timeout and got a response within a longer one", grouped(s.Slow),
			grouped(s.Requests)))
	}
	if s.UnsteadyFindings > 0 {
		out = append(out, fmt.Sprintf("findings: %s did not occur again and %s not count", grouped(s.UnsteadyFindings),
			map[bool]string{true: "does", false: "do"}[s.UnsteadyFindings == 1]))
	}
	return out
}

// grouped formats a number with a comma after each group of three digits.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

const (
	// steadinessObjects is the number of objects that the run creates to measure the steadiness, steadinessLists the number of lists.
	steadinessObjects = 3
	steadinessLists   = 3
	// deletionProbe is the number of requests that create, delete and read an object.
	deletionProbe = 3
	// steadinessReads is the number of requests of a run that creates no objects, steadinessWrites of a run that does.
	steadinessReads  = steadinessLists
	steadinessWrites = steadinessLists + 2*steadinessObjects + 2 + deletionProbe
)

// measureSteadiness measures the time until writes are visible and whether the order of lists is stable. It creates objects only if a check
// of the run does.
func (s *session) measureSteadiness(ctx context.Context) {
	if s.opts.Unmeasured || !s.caps.Users && !s.caps.Groups {
		return
	}
	if s.plan().Writes && s.deletesProbe(ctx) {
		s.scratch(ctx, "steadiness", func(t *T, where string, _ Doc) {
			body := t.User
			if where == "/Groups" {
				body = t.Group
			}
			var created *Created
			for i := range steadinessObjects {
				created = t.Create(ctx, where, body("probe"+strconv.Itoa(i+1), nil))
			}
			s.measureLag(ctx, t, created)
			s.measureOrder(ctx, t, where)
		})
	} else {
		s.scratch(ctx, "steadiness", func(t *T, where string, _ Doc) { s.measureOrder(ctx, t, where) })
	}
	s.caps.Steadiness = Steadiness{UnstableOrder: s.unstableOrder, Visibility: s.lag}
}

// deletesProbe reports whether the target deletes a plain object. Otherwise the objects that the measurement creates would remain.
func (s *session) deletesProbe(ctx context.Context) bool {
	where := "/Users"
	if !s.caps.Users {
		where = "/Groups"
	}
	if !s.opts.KeepGoing && s.maxCreated() > maxHeld {
		s.probeDeletion(ctx, where)
	}
	return s.skipReason(where) == "" && s.rights.denied == ""
}

// measureOrder requests the same list several times and compares the order of its items.
func (s *session) measureOrder(ctx context.Context, t *T, where string) {
	var first []string
	for i := range steadinessLists {
		res := t.Get(ctx, where, "count", "20")
		if !res.OK() {
			return
		}
		ids := res.IDs()
		if i == 0 {
			first = ids
		}
		s.unstableOrder = s.unstableOrder || !slices.Equal(first, ids) && slices.Equal(slices.Sorted(slices.Values(first)),
			slices.Sorted(slices.Values(ids)))
	}
}

// steadiness returns what the run has detected so far.
func (s *session) steadiness() Steadiness {
	r := &s.wire.repeats
	return Steadiness{UnstableOrder: s.unstableOrder, Visibility: s.lag, Requests: s.wire.requests, Repeated: r.count, Repeats: r.examples,
		Slow: r.slow, UnsteadyFindings: s.unsteadyFindings}
}

// maxConfirmations is the maximum number of times that the run repeats a check with findings. More than one is needed only if requests of
// the repeats fail on an unsteady target.
const maxConfirmations = 3

// maxBuilds is the maximum number of times that the run builds a fixture on an unsteady target. On any other target, the run builds it a
// second time only if a request failed.
const maxBuilds = 6

// An attempt is one execution of a check, and its result.
type attempt struct {
	CheckResult
	keys      []string // one string for each finding, equal for the same finding in another attempt
	disturbed bool     // a request got a server error, no response, or another result when repeated
	hung      bool     // a request timed out twice, in this check or an earlier one
}

// runCheck runs a check. A check that fails or warns is run again with new objects: a finding that does not occur again is unsteady. A
// check that a failed request blocked is run again too.
func (s *session) runCheck(ctx context.Context, number int, check Check) CheckResult {
	first := s.attempt(ctx, number, check, 0)
	requests, duration := first.Requests, first.Duration
	n := 1
	for ; first.blocked() && (n == 1 || n <= maxConfirmations && s.unsteady()) && s.mayConfirm(ctx); n++ {
		again := s.attempt(ctx, number, check, n)
		if !again.blocked() {
			s.recovered++ // the request that had blocked the check has succeeded in the repetition
		}
		first = again
	}
	first.Requests, first.Duration = requests, duration
	if first.Outcome == Fail || first.Outcome == Warn {
		s.confirm(ctx, number, &first, n)
	}
	return first.CheckResult
}

// confirm repeats a check and marks the findings that do not occur again as unsteady. One repetition without failed requests decides. If
// requests of the repetition fail on an unsteady target, confirm repeats the check again, up to maxConfirmations times.
func (s *session) confirm(ctx context.Context, number int, first *attempt, n int) {
	if first.hung {
		return // the request was already repeated, and another repetition would wait for its timeout again
	}
	gone := map[string]bool{}
	completed, decided, disturbed := 0, false, first.disturbed
	for last := n + maxConfirmations; n < last && !decided && s.mayConfirm(ctx); n++ {
		again := s.attempt(ctx, number, first.Check, n)
		decided = !again.disturbed || !s.unsteady()
		disturbed = disturbed && again.disturbed
		if again.Outcome == Error || again.Outcome == Skip {
			continue
		}
		completed++
		for _, key := range first.keys {
			gone[key] = !slices.Contains(again.keys, key) || !decided && gone[key]
		}
	}
	if completed == 0 && (!first.disturbed || !s.unsteady()) {
		return // no repetition was completed, and the first attempt was not disturbed: the findings remain
	}
	first.Outcome = Pass
	for i := range first.Findings {
		f := &first.Findings[i]
		if f.Outcome != Info && (completed == 0 || gone[first.keys[i]] || disturbed && s.oftenFails() && serverError.MatchString(f.Got)) {
			f.Unsteady, f.Outcome = true, Info
			s.unsteadyFindings++
		}
		first.Outcome = graver(first.Outcome, f.Outcome)
	}
}

// serverError matches the status of a server error.
var serverError = regexp.MustCompile(`^5\d\d$`)

// oftenFails reports whether at least one of a hundred requests failed and had another result when repeated. On such a target, a server
// error in every attempt of a check can be a coincidence.
func (s *session) oftenFails() bool { return 100*s.wire.repeats.count >= s.wire.requests }

// blocked reports whether a check was skipped after a request had failed.
func (a *attempt) blocked() bool {
	return a.Outcome == Skip && a.disturbed && !a.hung && !a.notApplicable && a.ran()
}

// unsteady reports whether the run has detected that equal requests have different results.
func (s *session) unsteady() bool { return s.recovered > 0 || !s.steadiness().Steady() }

// mayConfirm reports whether the limits of the run permit the repetition of a check: at least a fifth of the requests and of the time is
// left. A run with a rate limit repeats checks only if the target is unsteady.
func (s *session) mayConfirm(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	switch {
	case s.interruption(ctx) != "", 5*s.wire.requests > 4*s.opts.MaxRequests, s.opts.Rate > 0 && !s.unsteady():
		return false
	}
	return !limited || 5*time.Until(deadline) > deadline.Sub(s.began)
}

// variable matches the parts of a finding that differ between two attempts: ids and times.
var variable = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F-]{20,}|\d{4}-\d\d-\d\dT[0-9:.]+Z?|[0-9a-f]{16,}|\d{10,}`)

// key returns a string that is equal for the same finding in all attempts of a check: the outcome and the subject, without the names and
// ids of the objects.
func (t *T) key(f Finding) string {
	what := strings.ReplaceAll(f.What, t.prefix, "«P»")
	for _, c := range *t.ledger {
		if c.ID != "" {
			what = strings.ReplaceAll(what, c.ID, "«ID»")
		}
	}
	return string(f.Outcome) + " " + variable.ReplaceAllString(what, "«ID»")
}
