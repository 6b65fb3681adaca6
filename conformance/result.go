package conformance

import (
	"slices"
	"time"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// Outcome is how a check ended, or how much one finding weighs.
type Outcome string

// The outcomes.
const (
	Pass  Outcome = "pass"  // everything asked for was seen
	Fail  Outcome = "fail"  // a MUST does not hold
	Warn  Outcome = "warn"  // a SHOULD, or something that clients depend on, does not hold
	Info  Outcome = "info"  // permitted, but worth knowing
	Skip  Outcome = "skip"  // the check does not apply or could not get as far as its question
	Error Outcome = "error" // the network or the suite itself failed: nothing is said about the target
)

// Outcomes lists all outcomes, gravest first.
func Outcomes() []Outcome { return []Outcome{Fail, Error, Warn, Info, Skip, Pass} }

// graver returns the outcome that wins when a check saw both.
func graver(a, b Outcome) Outcome {
	if slices.Index(Outcomes(), a) < slices.Index(Outcomes(), b) {
		return a
	}
	return b
}

// A Finding is one thing the target did otherwise than expected.
type Finding struct {
	// Outcome is Fail, Warn or Info.
	Outcome Outcome
	// What names the thing that was looked at, for example "status of POST /Users".
	What string
	// Want and Got are what was expected and what came, as text.
	Want, Got string
	// Exchange is the request and the answer that show it, redacted; nil when there was none.
	Exchange *wirelog.Exchange
	// Waiver says why the finding is accepted for now; nil when it is not. A waived finding does not fail the run.
	Waiver *Waiver
}

// A Waiver accepts a known finding until a day (package waivers).
type Waiver struct {
	// Check is the id of the check. Match, when set, is a regular expression that the finding's What, Want or Got contains.
	Check, Match string
	// Reason says why the finding is accepted. Ticket is where it is followed up, Owner who does.
	Reason, Ticket, Owner string
	// Expires is the last day on which the waiver counts, in UTC. The zero value is no end.
	Expires time.Time
}

// A CheckResult is the answer to one check.
type CheckResult struct {
	Check   Check
	Outcome Outcome
	// Reason says why a check was skipped or ended in an error.
	Reason   string
	Findings []Finding
	// Notes are observations that are no findings.
	Notes    []string
	Requests int
	Duration time.Duration

	outside bool // it sent something, and was skipped because it does not apply
}

// Waived tells whether there are findings that fail or warn, and all of them are waived.
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

// A Sent request is one exchange of the run, with the check that sent it; empty for discovery, fixtures and cleaning up.
type Sent struct {
	Check    string
	Exchange *wirelog.Exchange
}

// Verdict is what a whole run says.
type Verdict string

// The verdicts.
const (
	Clean    Verdict = "clean"    // everything that was asked was tested and nothing was found
	Findings Verdict = "findings" // at least one check failed or warned
	Untested Verdict = "untested" // the target could not be tested, or not as far as asked: nothing can be concluded
)

// A Result is the outcome of a run.
type Result struct {
	// Target is the base URL; Run is the run's marker, which is part of every created object's name.
	Target, Run string
	// Seed is what the checks of the area "oracle" drew their requests from; see Options.Seed.
	Seed     uint64
	Started  time.Time
	Duration time.Duration
	// Requests counts everything that was sent, discovery and cleaning up included.
	Requests int
	Verdict  Verdict
	// Reason is a sentence that explains the verdict Untested.
	Reason string
	// Checks holds the results in the order of the checks.
	Checks []CheckResult
	// Profiles holds a verdict for each conversation of the profiles that were asked for. The steps are among Checks.
	Profiles []ProfileResult
	// Cautions say where a pass proves little.
	Cautions []string
	// Complaints say what is wrong with the waivers of the run: one expired, or excuses what does not happen any more. A run
	// with a complaint is not clean.
	Complaints []string
	// Lag is how long the target took until a created object could be found, as far as it was not at once.
	Lag time.Duration
	// Traffic is everything that was sent, in its order, redacted; kept only when Options.Record asks for it.
	Traffic []Sent
	// Leftovers are objects of this run that could not be removed.
	Leftovers []Leftover
	// Journal is the file that still lists them, empty when nothing is left.
	Journal string

	interrupted string // why the run stopped before its end
	denied      string // why nothing could be written, as far as the credentials are to blame
}

// Count returns how many checks ended with the given outcome.
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
	// Path is relative to the base URL. It is the collection when the id never became known.
	Path string
	// Name is the userName or displayName it was created with.
	Name string
	// Reason says what stood in the way.
	Reason string
}
