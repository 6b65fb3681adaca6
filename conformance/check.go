package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/similar"
)

// A Check tests one statement about a target. Checks are values: they can be listed, filtered, explained and planned without running them.
type Check struct {
	// ID consists of words, the area first: "filter.eq", "patch.remove-no-target". The meaning of an id never changes.
	ID string
	// Title states what a conforming target does, as one sentence without the final period.
	Title string
	// Requirements are the ids of the requirements that the check tests (package requirements), the primary one first.
	Requirements []string
	// Level determines the outcome of a violation: see [Level.Violation].
	Level Level
	// Needs are the conditions under which the check applies. The plan skips a check whose needs the target does not meet.
	Needs []Need
	// Fixture, if set, is built once per run before the first check that names it, and shared by all of them. Checks only read the objects of
	// a fixture.
	Fixture *Fixture
	// CreatesNothing reports that the check creates no object on a conforming target, although it needs NeedWrite. Such a check also runs
	// if the target deletes no objects; see Options.KeepGoing.
	CreatesNothing bool
	// Requests is the number of requests that the check sends to a conforming target, including cleanup and excluding its fixture. A
	// [Plan] contains the sum for all its checks.
	Requests int
	// PerRound is the number of requests that each round after the first adds (Options.OracleRounds). It is 0 for checks without rounds.
	PerRound int
	// Why describes who is affected if the requirement does not hold, and how.
	Why string
	// Fix describes what to change in the target.
	Fix string
	// Run runs the check. It reports findings through t. A panic is reported as an error of the suite.
	Run func(ctx context.Context, t *T)
	// Watch is used instead of Run. It receives every exchange of the run, from all checks, and its result is complete at the end of the run.
	// Requests is then 0, and the fixture serves to produce exchanges to check.
	Watch func(w *ObservedExchange)
}

// Area returns the part of the id before the first dot.
func (c Check) Area() string {
	area, _, _ := strings.Cut(c.ID, ".")
	return area
}

// Level is the strength of the requirement that a check tests.
type Level string

// The levels, strongest first.
const (
	Must    Level = "must"    // MUST, SHALL, REQUIRED
	Should  Level = "should"  // SHOULD, RECOMMENDED, and statements that a table contains or that follow from other ones
	Interop Level = "interop" // not required by the RFCs, but widely deployed clients depend on it
	May     Level = "may"     // MAY and interpretations: only reported as information
)

// Levels returns all levels, strongest first.
func Levels() []Level { return []Level{Must, Should, Interop, May} }

// Violation returns the outcome of a check of this level that found a violation: [Fail] for Must, [Warn] for Should and Interop, [Info] for
// May.
func (l Level) Violation() Outcome {
	switch l {
	case Must:
		return Fail
	case May:
		return Info
	default:
		return Warn
	}
}

// A Need is a condition that a target, the run's credentials or the run's options must meet for a check to apply. If the requirements
// catalog has a name for the condition, the Need has the same name.
type Need string

// The needs. If the ServiceProviderConfig does not mention filters, PATCH or pagination by startIndex, these features count as supported.
// Sorting, bulk requests, versions and pagination by cursor count as supported only if the ServiceProviderConfig declares them.
const (
	NeedWrite       Need = "write"             // the run may create, change and delete its own objects
	NeedCredentials Need = "creds.present"     // a token or an Authorization header is configured
	NeedToken       Need = "creds.bearer"      // the configured credentials are a bearer token
	NeedRemote      Need = "target.remote"     // the target is not this machine
	NeedUser        Need = "resource.User"     // the target serves users
	NeedGroup       Need = "resource.Group"    // the target serves groups
	NeedEnterprise  Need = "ext.enterprise"    // users of the target have the enterprise extension
	NeedFilter      Need = "filter.supported"  // the target does not declare filters as not supported
	NeedPatch       Need = "patch.supported"   // the target does not declare PATCH as not supported
	NeedSort        Need = "sort.supported"    // the target declares support of sorting
	NeedIndex       Need = "pagination.index"  // the target does not declare pagination by startIndex as not supported
	NeedCursor      Need = "pagination.cursor" // the target declares pagination by cursor (RFC 9865)
	NeedBulk        Need = "bulk.supported"    // the target declares support of bulk requests
	NeedETag        Need = "etag.supported"    // the target declares support of versions
)

// A Fixture is a set of objects that several checks read and do not change.
type Fixture struct {
	// Name appears in the names of the fixture's objects: lower-case letters only.
	Name string
	// Requests is the number of requests that building and removing the fixture takes.
	Requests int
	// Build creates the objects and returns them by label.
	Build func(ctx context.Context, t *T) map[string]*Created
	// Equal, if set, is a fixture with the same labels, whose objects have the value of one attribute in common. It replaces the fixture on
	// targets that reject the filter operator sw, so that a filter with the operator eq can select the objects.
	Equal *Fixture
}

// A Selection narrows a list of checks. The zero value selects all.
//
// An entry of Only or Skip is the id of a check, an area, a level, the id of a clause that a check tests, or a section of such a clause
// with its subsections: "filter.eq", "filter", "should", "RFC7644-3.5.2-28", "RFC7644-3.5".
type Selection struct {
	// Only selects the listed checks. Default: all.
	Only []string
	// Skip removes the listed checks.
	Skip []string
	// Level removes weaker checks. Default: May, which removes none.
	Level Level
}

// Apply returns the selected checks in their order. An unknown name, an unknown level and an empty selection are errors of type
// [*UsageError].
func (s Selection) Apply(checks []Check) ([]Check, error) {
	for _, name := range slices.Concat(s.Only, s.Skip) {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.named(name) }) {
			return nil, &UsageError{
				Problem: fmt.Sprintf("unknown check, area, level, section or clause %q%s", name, suggestion(name, checks))}
		}
	}
	weakest := len(Levels()) - 1
	if s.Level != "" {
		if weakest = slices.Index(Levels(), s.Level); weakest < 0 {
			return nil, &UsageError{Problem: fmt.Sprintf("unknown level %q: levels are must, should, interop and may%s", s.Level,
				similar.Hint(string(s.Level), []string{string(Must), string(Should), string(Interop), string(May)}))}
		}
	}
	var selected []Check
	for _, c := range checks {
		kept := len(s.Only) == 0 || slices.ContainsFunc(s.Only, c.named)
		if kept && !slices.ContainsFunc(s.Skip, c.named) && slices.Index(Levels(), c.Level) <= weakest {
			selected = append(selected, c)
		}
	}
	if len(selected) == 0 {
		return nil, &UsageError{Problem: "the selection leaves no check to run"}
	}
	return selected, nil
}

func (c Check) named(name string) bool {
	if name == c.ID || name == c.Area() || name == string(c.Level) {
		return true
	}
	clause := strings.ReplaceAll(strings.ToUpper(name), " ", "-")
	if !strings.HasPrefix(clause, "RFC") {
		return false
	}
	return slices.ContainsFunc(c.Requirements, func(id string) bool {
		rest, found := strings.CutPrefix(id, clause)
		return found && (rest == "" || rest[0] == '.' || rest[0] == '-')
	})
}

// names returns the names that select checks: areas, levels and ids, without those of clauses.
func names(checks []Check) []string {
	var areas, ids []string
	for _, c := range checks {
		if !slices.Contains(areas, c.Area()) {
			areas = append(areas, c.Area())
		}
		ids = append(ids, c.ID)
	}
	for _, l := range Levels() {
		areas = append(areas, string(l))
	}
	return append(areas, ids...)
}

// suggestion proposes a known name for an unknown one: the same name in another case, the section with this number, a name with few other
// characters, or the id that has the most words in common with it.
func suggestion(name string, checks []Check) string {
	for _, form := range []string{strings.ToLower(name), "RFC7644-" + name, "RFC7643-" + name} {
		if slices.ContainsFunc(checks, func(c Check) bool { return c.named(form) }) {
			return fmt.Sprintf("; did you mean %q?", form)
		}
	}
	if best := similar.Hint(name, names(checks)); best != "" {
		return best
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '.' || r == '-' || r == '_' })
	score := func(c Check) int {
		hits := 0
		own := strings.FieldsFunc(c.ID, func(r rune) bool { return r == '.' || r == '-' })
		for _, w := range words {
			if len(w) > 1 && slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, w) || strings.HasPrefix(w, o) }) {
				hits++
			}
		}
		return hits
	}
	if len(checks) == 0 {
		return ""
	}
	best := slices.MaxFunc(checks, func(a, b Check) int { return cmp.Compare(score(a), score(b)) })
	if score(best) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best.ID)
}

// A UsageError reports that a run cannot start: an unknown check, a malformed target, writes without consent. Nothing was sent to the
// target.
type UsageError struct {
	// Problem describes the error and what to do, as a sentence without the final period.
	Problem string
}

func (e *UsageError) Error() string { return e.Problem }

// A ConsentError reports that a run would create objects on a target that is not this machine, without consent. Nothing was sent to the
// target.
type ConsentError struct{ Host string }

func (e *ConsentError) Error() string {
	return e.Host + " is not this machine, and creating and removing test objects there was not allowed"
}
