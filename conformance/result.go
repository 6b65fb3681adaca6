package conformance

import (
	"iter"
	"slices"
	"time"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// Outcome is the outcome of a check or the severity of a finding.
type Outcome string

// The outcomes.
const (
	Pass  Outcome = "pass"  // all expectations hold
	Fail  Outcome = "fail"  // a MUST is violated
	Warn  Outcome = "warn"  // a SHOULD, or a requirement of widely deployed clients, is violated
	Info  Outcome = "info"  // permitted, but worth knowing
	Skip  Outcome = "skip"  // the check does not apply or was blocked
	Error Outcome = "error" // an error of the network or the suite: no statement about the target
)

// Outcomes returns all outcomes, most severe first.
func Outcomes() []Outcome { return []Outcome{Fail, Error, Warn, Info, Skip, Pass} }

// graver returns the more severe outcome.
func graver(a, b Outcome) Outcome {
	if slices.Index(Outcomes(), a) < slices.Index(Outcomes(), b) {
		return a
	}
	return b
}

// A Finding is one difference between the target and an expectation.
type Finding struct {
	// Outcome is Fail, Warn or Info.
	Outcome Outcome
	// What names what was checked, for example "status of POST /Users".
	What string
	// Want and Got are the expected and the actual value, as text.
	Want, Got string
	// Exchange is the redacted request and response that show the finding. It is nil if no single exchange shows it.
	Exchange *wirelog.Exchange
	// Write is the redacted exchange that created or changed the resource which Exchange reads: the curl command of a read alone does not
	// repeat the finding, because the run has removed the resource. It is nil if Exchange is not a read of a resource.
	Write *wirelog.Exchange
	// Preparation contains the requests that created the objects on which Exchange and Write depend, and then those that changed them, each in
	// their order: the run has removed these objects.
	Preparation []Preparation
	// Unsteady reports whether the finding did not occur again when the run repeated the check with new objects. Its outcome is then Info.
	Unsteady bool
	// Waiver is the waiver that accepts the finding, or nil if no waiver does. A waived finding does not fail the run.
	Waiver *Waiver
}

// A Preparation is a request that created or changed an object.
type Preparation struct {
	// ID is the id that the target assigned to the created object. It is empty if Exchange changed an object.
	ID string
	// Exchange is the redacted request: a POST or a bulk request that created the object, or a PUT or PATCH. It is nil if a PUT created the
	// object.
	Exchange *wirelog.Exchange
}

// A Waiver accepts a known finding until a date (package waivers).
type Waiver struct {
	// Check is the id of the check. Match, if set, is a regular expression that must match the What, Want or Got of the finding.
	Check, Match string
	// Reason explains why the finding is accepted. Ticket is the issue that tracks it. Owner is the person or team responsible for the waiver.
	Reason, Ticket, Owner string
	// Expires is the last day on which the waiver applies, in UTC. The zero value means no end.
	Expires time.Time
}

// A CheckResult is the result of one check.
type CheckResult struct {
	Check   Check
	Outcome Outcome
	// Reason explains why a check was skipped or ended with an error.
	Reason   string
	Findings []Finding
	// Notes are observations that are not findings.
	Notes []string
	// Requests and Duration are those of the first execution of the check. A check that fails or warns is repeated; [Result.Requests] includes
	// the requests of the repetition.
	Requests int
	Duration time.Duration
	// BlockedBy is what kept a skipped check from its result, although the check applies to the target. It is nil for all other checks.
	BlockedBy *Blocker

	notApplicable bool // it sent requests, and was skipped because it does not apply
}

// Waived reports whether there are findings with the outcome Fail or Warn, and all of them are waived.
func (c CheckResult) Waived() bool {
	weighty := false
	for _, f := range c.Findings {
		if f.Outcome == Info {
			continue
		}
		if f.Waiver == nil {
			return false
		}
		weighty = true
	}
	return weighty
}

// A Sent request is one exchange of the run, with the id of the check that sent it. The id is empty for discovery, fixtures and cleanup.
type Sent struct {
	Check    string
	Exchange *wirelog.Exchange
}

// Verdict is the result of a whole run.
type Verdict string

// The verdicts.
const (
	Clean    Verdict = "clean"    // all applicable checks ran, without findings
	Findings Verdict = "findings" // at least one check failed or warned
	Untested Verdict = "untested" // the target could not be tested, or not completely: no conclusion
)

// A Result is the result of a run.
type Result struct {
	// Target is the base URL. Run is the run's marker, which is part of the name of every created object.
	Target, Run string
	// Seed is the seed of the checks of the area "oracle"; see Options.Seed.
	Seed     uint64
	Started  time.Time
	Duration time.Duration
	// Requests is the number of all requests, including discovery and cleanup.
	Requests int
	Verdict  Verdict
	// Reason is a sentence that explains the verdict Untested.
	Reason string
	// Checks contains the results in the order of the checks, without the steps of client flows: see [Result.All].
	Checks []CheckResult
	// Blocks contains what blocked checks, most checks first.
	Blocks []Block
	// Profiles contains a verdict for each client flow of the requested profiles, with the results of its steps.
	Profiles []ProfileResult
	// Cautions describe limits of the run that make a pass less significant.
	Cautions []string
	// Complaints are problems with the waivers of the run: a waiver expired, or no longer matches a finding. A run with a complaint is not
	// clean.
	Complaints []string
	// Lag is the time until a created object could be found on the target. 0 means immediately.
	Lag time.Duration
	// Steadiness describes whether equal requests had equal results.
	Steadiness Steadiness
	// Traffic contains all exchanges in their order, redacted. It is empty unless Options.Record is set.
	Traffic []Sent
	// Leftovers are objects of this run that could not be removed.
	Leftovers []Leftover
	// Journal is the path of the file that still lists the leftovers. It is empty if there are no leftovers.
	Journal string

	interrupted string // why the run stopped early
	denied      string // why the credentials do not permit writes
	undeletable string // why checks that create objects were not run: the target does not delete
}

// All returns the results of the checks and then those of the steps of all client flows. The caller may modify the results.
func (r *Result) All() iter.Seq[*CheckResult] {
	return func(yield func(*CheckResult) bool) {
		for i := range r.Checks {
			if !yield(&r.Checks[i]) {
				return
			}
		}
		for i := range r.Profiles {
			for j := range r.Profiles[i].Steps {
				if !yield(&r.Profiles[i].Steps[j]) {
					return
				}
			}
		}
	}
}

// Count returns the number of checks with the given outcome, without the steps of client flows.
func (r *Result) Count(o Outcome) int {
	n := 0
	for _, c := range r.Checks {
		if c.Outcome == o {
			n++
		}
	}
	return n
}

// A Leftover is an object that the suite created and could not remove.
type Leftover struct {
	// Path is relative to the base URL. It is the collection if the id is unknown.
	Path string
	// Name is the userName or displayName with which the suite created the object.
	Name string
	// Reason explains why the object could not be removed.
	Reason string
}
