package truth_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/causes"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// A knownFault is a fault of a server with a signature.
type knownFault struct {
	id   string
	wrap func(t *testing.T, h http.Handler) http.Handler
}

// untypical are the quirks without a signature: those that need an argument or time, and those that prevent every request.
var untypical = []string{"lookup-lag", "ignores-attribute", "unauthorized", "forbidden", "login-page"}

// knownFaults returns the faults of the mutants, and those that quirks simulate, which are faults of real servers.
func knownFaults() []knownFault {
	var out []knownFault
	for _, m := range mutants.All() {
		out = append(out, knownFault{m.ID, func(_ *testing.T, h http.Handler) http.Handler { return m.Wrap(h) }})
	}
	for _, q := range quirks.All() {
		if q.Category != quirks.Chaos && !slices.Contains(untypical, q.Name) {
			out = append(out, knownFault{"quirk." + q.Name, func(t *testing.T, h http.Handler) http.Handler { return withQuirk(t, h, q.Name) }})
		}
	}
	return out
}

// TestSignatures_MatchFaults compares conformance/causes/signatures.txt with runs of the whole suite against every mutant and quirk.
// A plain run compares every 40th of them, and only the set of checks that complain and the fingerprints of their findings: the telling
// check of a signature, whose finding describes the fault best, depends on all faults. Faults and checks that are newer than the file are
// not compared, because rewriting the file takes 20 minutes; until then, package causes groups their findings by evidence. A run of all
// faults compares the whole file.
func TestSignatures_MatchFaults(t *testing.T) {
	stored, fingerprints, known := map[string][]string{}, map[string]map[string][]string{}, map[string]bool{}
	for _, s := range causes.Signatures() {
		for _, id := range s.Checks() {
			known[id] = true
		}
		for _, fault := range s.Faults {
			stored[fault] = slices.Sorted(slices.Values(s.Checks()))
			fingerprints[fault] = s.Fingerprints
		}
	}
	var mu sync.Mutex
	observed := map[string]causes.Observed{}
	t.Run("runs", func(t *testing.T) {
		for i, f := range knownFaults() {
			if omitted(i) {
				continue
			}
			t.Run(f.id, func(t *testing.T) {
				t.Parallel()
				o := causes.Observe(suite(t, f.wrap(t, newReferenceServer(t))))
				mu.Lock()
				defer mu.Unlock()
				observed[f.id] = o
				if want, ok := stored[f.id]; ok && !goldentest.Updating() {
					got := slices.DeleteFunc(slices.Sorted(slices.Values(o.Complaints)), func(id string) bool { return !known[id] })
					assert.Equal(t, want, got, "rewrite signatures.txt with make causes")
					for _, id := range got {
						assert.True(t, len(o.Fingerprints[id]) == 0 || meet(o.Fingerprints[id], fingerprints[f.id][id]),
							"other fingerprints of %s than in signatures.txt", id)
					}
				}
			})
		}
	})
	if len(observed) == len(knownFaults()) {
		goldentest.Check(t, filepath.Join(repository, "conformance", "causes", "signatures.txt"),
			causes.FormatSignatures(causes.NewSignatures(observed)))
	}
}

func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// Mutants that TestCauses_NameMutants does not draw: those whose fault hides most other faults, because so many checks complain or are
// blocked.
const (
	maxComplaints = 150
	maxBlocked    = 60
)

// A draw is a choice of mutants that are applied to one server.
type draw struct {
	mutants []mutants.Mutant
	// checks are, for each mutant, the checks that complain about a server with this mutant alone: its causes.Signature.
	checks [][]string
}

// drawer draws mutants of which none has a signature with all checks of the signature of another.
type drawer struct {
	random     *rand.Rand
	candidates []mutants.Mutant
	signatures map[string]causes.Signature
}

func newDrawer(seed uint64) *drawer {
	d := &drawer{random: rand.New(rand.NewPCG(seed, 18)), signatures: map[string]causes.Signature{}}
	for _, s := range causes.Signatures() {
		for _, fault := range s.Faults {
			d.signatures[fault] = s
		}
	}
	for _, m := range mutants.All() {
		if s, ok := d.signatures[m.ID]; ok && len(s.Checks()) <= maxComplaints && len(s.Blocks) <= maxBlocked {
			d.candidates = append(d.candidates, m)
		}
	}
	return d
}

func (d *drawer) draw(n int) draw {
	var out draw
	for len(out.mutants) < n {
		m := d.candidates[d.random.IntN(len(d.candidates))]
		own := d.signatures[m.ID].Checks()
		if !slices.ContainsFunc(out.checks, func(other []string) bool { return includes(own, other) || includes(other, own) }) {
			out.mutants = append(out.mutants, m)
			out.checks = append(out.checks, own)
		}
	}
	return out
}

func includes(set, subset []string) bool {
	return !slices.ContainsFunc(subset, func(id string) bool { return !slices.Contains(set, id) })
}

// visible reports whether the run shows each mutant of the draw: for each mutant, at least one of the checks that complain belongs to the
// signature of this mutant and to that of no other mutant of the draw. A mutant is not visible if another mutant hides its fault.
func (d draw) visible(r *conformance.Result) bool {
	for i, own := range d.checks {
		others := slices.Concat(slices.Concat(d.checks[:i]...), slices.Concat(d.checks[i+1:]...))
		if !slices.ContainsFunc(r.Checks, func(c conformance.CheckResult) bool {
			return complains(c) && slices.Contains(own, c.Check.ID) && !slices.Contains(others, c.Check.ID)
		}) {
			return false
		}
	}
	return true
}

// named assigns as many mutants of the draw as possible to causes that name them, each to a different one. It returns the index of the
// cause of each mutant, -1 for a mutant without one. A cause names a mutant if its telling check, the first of its checks, complains about
// a server with this mutant alone.
func (d draw) named(found []causes.Cause) []int {
	causeOf := make([]int, len(d.checks))
	for i := range causeOf {
		causeOf[i] = -1
	}
	var assign func(cause int, tried map[int]bool) bool
	assign = func(cause int, tried map[int]bool) bool {
		for m, own := range d.checks {
			if tried[m] || len(found[cause].Checks) == 0 || !slices.Contains(own, found[cause].Checks[0]) {
				continue
			}
			tried[m] = true
			if causeOf[m] < 0 || assign(causeOf[m], tried) {
				causeOf[m] = cause
				return true
			}
		}
		return false
	}
	for cause := range found {
		assign(cause, map[int]bool{})
	}
	return causeOf
}

// logUnnamed logs each mutant that no cause names, with the checks of its signature that complain and the causes that explain them.
func (d draw) logUnnamed(t *testing.T, found []causes.Cause) {
	t.Helper()
	for i, cause := range d.named(found) {
		if cause >= 0 {
			continue
		}
		t.Logf("no cause names %s, one of %d mutants with %d causes", d.mutants[i].ID, len(d.mutants), len(found))
		for _, c := range found {
			for _, id := range c.Checks {
				if !slices.Contains(d.checks[i], id) {
					continue
				}
				var others []string
				for other, checks := range d.checks {
					if other != i && slices.Contains(checks, id) {
						others = append(others, d.mutants[other].ID)
					}
				}
				t.Logf("  %s is in the cause %s (%d checks); other mutants with this check: %v", id, c.ID, len(c.Checks), others)
			}
		}
	}
}

var seed = flag.Uint64("causes.seed", 0, "add `N` to the seeds of the random choices of TestCauses_NameMutants")

// TestCauses_NameMutants checks that a server with N mutants has N causes that name different mutants. With several mutants, one cause too
// many or too few is permitted. It also logs the result without the signatures of the drawn mutants, for which there is no bound: the
// faults of a real server are not among the mutants.
func TestCauses_NameMutants(t *testing.T) {
	for _, c := range []struct{ mutants, draws, plain int }{{1, 100, 2}, {5, 40, 2}, {20, 20, 1}} {
		t.Run(fmt.Sprintf("%d mutants", c.mutants), func(t *testing.T) {
			draws := c.draws
			if !alltest.All() || raceDetector {
				draws = c.plain
			}
			s := newScore(c.mutants)
			d := newDrawer(*seed + uint64(c.mutants))
			var lock sync.Mutex
			t.Run("draws", func(t *testing.T) {
				for i := range draws {
					t.Run(fmt.Sprint(i), func(t *testing.T) {
						t.Parallel()
						for {
							lock.Lock()
							drawn := d.draw(c.mutants)
							lock.Unlock()
							if s.add(t, drawn, drawn.run(t)) {
								return
							}
						}
					})
				}
			})
			t.Logf("%s", s)
			require.GreaterOrEqual(t, s.good, draws*9/10, "%s", s)
		})
	}
}

// run runs the suite against the reference server with all mutants of the draw. The test fails if a mutant panics, because a mutant accepts
// messages that another one has changed. A panic with http.ErrAbortHandler is a closed connection.
func (d draw) run(t *testing.T) *conformance.Result {
	t.Helper()
	h := newReferenceServer(t)
	for _, m := range d.mutants {
		h = m.Wrap(h)
	}
	return suite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				t.Errorf("%s %s: %v\n%s", r.Method, r.URL, v, debug.Stack())
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		h.ServeHTTP(w, r)
	}))
}

// A score counts results of runs that each apply the same number of mutants.
type score struct {
	mu      sync.Mutex
	mutants int
	// good counts the draws with as many causes as mutants, if the causes name different mutants. With several mutants, one cause too many or
	// too few is permitted. heldOut is the same number for causes that were determined without the signatures of the drawn mutants.
	draws, good, heldOut int
	// differences counts the draws by the number of causes minus the number of mutants. heldOutDifferences counts them for causes that were
	// determined without the signatures of the drawn mutants.
	differences, heldOutDifferences map[int]int
	named, heldOutNamed             int
	// discarded is the number of draws in which a mutant hides another one or leads to an error of a check.
	discarded int
}

func newScore(n int) *score {
	return &score{mutants: n, differences: map[int]int{}, heldOutDifferences: map[int]int{}}
}

// add counts a run. It returns false if the draw was discarded.
func (s *score) add(t *testing.T, d draw, r *conformance.Result) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Verdict != conformance.Findings || r.Count(conformance.Error) > 0 || !d.visible(r) {
		s.discarded++
		return false
	}
	s.draws++
	var ids []string
	for _, m := range d.mutants {
		ids = append(ids, m.ID)
	}
	tolerance := min(1, s.mutants-1)
	count := func(found []causes.Cause, differences map[int]int, named *int) bool {
		n := len(slices.DeleteFunc(d.named(found), func(cause int) bool { return cause < 0 }))
		*named += n
		differences[len(found)-s.mutants]++
		return n >= s.mutants-tolerance && max(len(found)-s.mutants, s.mutants-len(found)) <= tolerance
	}
	found := causes.Of(r)
	if count(found, s.differences, &s.named) {
		s.good++
	} else {
		t.Logf("mutants %v have the causes %v", ids, tellingChecks(found))
	}
	d.logUnnamed(t, found)
	others := slices.DeleteFunc(causes.Signatures(), func(signature causes.Signature) bool { return includes(ids, signature.Faults) })
	if count(causes.Explain(r, others), s.heldOutDifferences, &s.heldOutNamed) {
		s.heldOut++
	}
	return true
}

func tellingChecks(found []causes.Cause) []string {
	var out []string
	for _, c := range found {
		out = append(out, c.ID)
	}
	return out
}

func (s *score) String() string {
	distribution := func(differences map[int]int) string {
		text := ""
		for _, difference := range slices.Sorted(maps.Keys(differences)) {
			text += fmt.Sprintf(" %+d:%d", difference, differences[difference])
		}
		return text
	}
	return fmt.Sprintf("%d mutants: %d of %d draws good, %d of %d mutants named, causes minus mutants%s; without their signatures: %d good, "+
		"%d named,%s; discarded: %d", s.mutants, s.good, s.draws, s.named, s.draws*s.mutants, distribution(s.differences), s.heldOut,
		s.heldOutNamed, distribution(s.heldOutDifferences), s.discarded)
}

// TestCauses_DELETERejected checks that the first cause of a server that rejects DELETE names the rejected DELETE. Requests without valid
// credentials get the same error, so that checks of the area auth complain, too.
func TestCauses_DELETERejected(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"405":             methodRejected("DELETE"),
		"quirk no-delete": func(h http.Handler) http.Handler { return withQuirk(t, h, "no-delete") },
		"405 and no schemas": func(h http.Handler) http.Handler {
			return methodRejected("DELETE")(mutantNamed(t, "patch.schema-not-needed")(h))
		},
	} {
		found := causes.Of(suite(t, wrap(newReferenceServer(t))))
		require.NotEmpty(t, found, name)
		require.Regexp(t, `^delete\.(group-)?status$`, found[0].ID, name)
		require.Regexp(t, `^DELETE of a (user|group) returns (405|501|403)`, found[0].Headline, name)
	}
}
