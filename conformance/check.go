package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Check is one question put to a target. Checks are values: they can be listed, filtered, explained and planned without
// running them.
type Check struct {
	// ID is words, area first: "filter.eq", "patch.remove-no-target". An id never changes its meaning.
	ID string
	// Title states what a conforming target does, as one sentence without the final stop.
	Title string
	// Requirements are the ids of the statements the check proves (package requirements). The first one is the principal.
	Requirements []string
	// Level decides what a violation is called: see [Level.Violation].
	Level Level
	// Needs are the conditions under which the check applies. The plan skips a check whose needs the target does not meet.
	Needs []Need
	// Fixture, when set, is built once per run before the first check that names it, and shared by all of them. Checks only
	// read what a fixture holds.
	Fixture *Fixture
	// Requests is the number of requests the check sends to a conforming target, cleaning up included, its fixture
	// excluded. Plans add them up.
	Requests int
	// PerRound is the number of requests that each round after the first adds (Options.OracleRounds); 0 for checks that know
	// no rounds.
	PerRound int
	// Why says why the statement matters and who breaks when it does not hold.
	Why string
	// Fix says where to look when the check finds something.
	Fix string
	// Run asks the question. It reports through t and returns when done; a panic in it is reported as an error of the suite.
	Run func(ctx context.Context, t *T)
	// Watch, instead of Run, looks at every exchange of the run, whichever check sends it; the result stands at the end of the
	// run. A fixture is then there to give it something to look at, and Requests is 0.
	Watch func(w *ObservedExchange)
}

// Area is the part of the id before the first dot.
func (c Check) Area() string {
	area, _, _ := strings.Cut(c.ID, ".")
	return area
}

// Level is the strength of what a check proves.
type Level string

// The levels, strongest first.
const (
	Must    Level = "must"    // MUST, SHALL, REQUIRED
	Should  Level = "should"  // SHOULD, RECOMMENDED, and what tables and derived statements ask for
	Interop Level = "interop" // not asked for by the RFCs, but widely deployed clients depend on it
	May     Level = "may"     // MAY and interpretations: only ever reported as information
)

// Levels lists all levels, strongest first.
func Levels() []Level { return []Level{Must, Should, Interop, May} }

// Violation is the outcome of a check of this level that found the target doing otherwise: [Fail] for Must, [Warn] for
// Should and Interop, [Info] for May.
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

// A Need is a condition that a target, the run's credentials or the run's options must meet for a check to apply. The names
// are those of the requirement catalogue where it has one.
type Need string

// The needs. A feature that the target's ServiceProviderConfig does not mention counts as met: the check tries it.
const (
	NeedWrite       Need = "write"             // the run may create, change and delete its own objects
	NeedCredentials Need = "creds.present"     // a token or an Authorization header is configured
	NeedToken       Need = "creds.bearer"      // the configured credentials are a bearer token
	NeedRemote      Need = "target.remote"     // the target is not this machine
	NeedUser        Need = "resource.User"     // the target serves users
	NeedGroup       Need = "resource.Group"    // the target serves groups
	NeedEnterprise  Need = "ext.enterprise"    // users carry the enterprise extension
	NeedFilter      Need = "filter.supported"  // the target does not say that it cannot filter
	NeedPatch       Need = "patch.supported"   // the target does not say that it cannot PATCH
	NeedSort        Need = "sort.supported"    // the target says that it can sort
	NeedIndex       Need = "pagination.index"  // the target does not say that it cannot page by startIndex
	NeedCursor      Need = "pagination.cursor" // the target says that it can page by cursor (RFC 9865)
	NeedBulk        Need = "bulk.supported"    // the target says that it takes bulk jobs
	NeedETag        Need = "etag.supported"    // the target says that it has versions
)

// A Fixture is a set of objects that several checks only read.
type Fixture struct {
	// Name appears in the names of the fixture's objects: lower-case letters only.
	Name string
	// Requests is the number of requests that building and removing it takes.
	Requests int
	// Build creates the objects and returns them by label.
	Build func(ctx context.Context, t *T) map[string]*Created
}

// A Selection narrows a list of checks. The zero value selects all.
//
// A check is listed by its id, its area, its level, the id of a clause that it proves, or a section of such a clause with all
// that is below it: "filter.eq", "filter", "should", "RFC7644-3.5.2-28", "RFC7644-3.5".
type Selection struct {
	// Only keeps checks that are listed. Defaults to all.
	Only []string
	// Skip drops checks that are listed.
	Skip []string
	// Level drops checks weaker than it. Defaults to May, that is none.
	Level Level
}

// Apply returns the selected checks in their order. A name that is neither the id nor the area of a check, an unknown level
// and a selection of nothing are errors of type [*UsageError].
func (s Selection) Apply(checks []Check) ([]Check, error) {
	for _, name := range slices.Concat(s.Only, s.Skip) {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.named(name) }) {
			return nil, &UsageError{
				Problem: fmt.Sprintf("no check, area, level, section or clause that is tested is called %q%s", name, suggestion(name, checks))}
		}
	}
	weakest := len(Levels()) - 1
	if s.Level != "" {
		if weakest = slices.Index(Levels(), s.Level); weakest < 0 {
			return nil, &UsageError{Problem: fmt.Sprintf("no level is called %q: levels are must, should, interop and may", s.Level)}
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

// suggestion points to what is called so in lower case, to the section with this number, or else to the id that shares most
// words with a mistyped name.
func suggestion(name string, checks []Check) string {
	for _, form := range []string{strings.ToLower(name), "RFC7644-" + name, "RFC7643-" + name} {
		if slices.ContainsFunc(checks, func(c Check) bool { return c.named(form) }) {
			return fmt.Sprintf("; did you mean %q?", form)
		}
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '.' || r == '-' || r == '_' })
	score := func(c Check) int {
		hits := 0
		for _, w := range words {
			if len(w) > 1 && strings.Contains(c.ID, w) {
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

// A UsageError says that a run was asked for in a way that cannot work: an unknown check, a malformed target, writes without
// consent. Nothing was sent to the target.
type UsageError struct {
	// Problem is a sentence without the final stop that says what is wrong and what to do.
	Problem string
}

func (e *UsageError) Error() string { return e.Problem }

// A ConsentError says that a run would create objects on a target that is not this machine, and that nobody consented.
// Nothing was sent to the target.
type ConsentError struct{ Host string }

func (e *ConsentError) Error() string {
	return e.Host + " is not this machine, and nobody has consented to creating and removing test objects there"
}
