package truth_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// A killMatrix collects which checks notice which mutants, and what the suite says about servers that are right.
type killMatrix struct {
	control *conformance.Result

	mu     sync.Mutex
	kills  map[string][]string // ids of checks by mutant
	blames map[string]int      // by variant
}

func newKillMatrix() *killMatrix {
	return &killMatrix{kills: map[string][]string{}, blames: map[string]int{}}
}

func (m *killMatrix) killed(mutant mutants.Mutant, r *conformance.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range r.Checks {
		if noticed(c) {
			m.kills[mutant.ID] = append(m.kills[mutant.ID], c.Check.ID)
		}
	}
}

func (m *killMatrix) tolerated(v mutants.Variant, r *conformance.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blames[v.ID] = count(r, blamed)
}

// complete tells whether everything was run and every mutant was noticed.
func (m *killMatrix) complete() bool {
	return m.control != nil && len(m.blames) == len(mutants.Variants()) && len(m.kills) == len(mutants.All())
}

// victims are the mutants that a check notices, in their order.
func (m *killMatrix) victims(check string) []string {
	var out []string
	for _, mutant := range mutants.All() {
		if slices.Contains(m.kills[mutant.ID], check) {
			out = append(out, mutant.ID)
		}
	}
	return out
}

func count(r *conformance.Result, when func(conformance.CheckResult) bool) int {
	n := 0
	for _, c := range r.Checks {
		if when(c) {
			n++
		}
	}
	return n
}

const killMatrixIntroduction = `# Kill matrix

What shows that the checks of the conformance suite can fail, and that they fail for a reason. The page is written by a test that
runs the suite against the reference server as it is, against the same server made different in ways that the RFCs permit, and
against the same server with one fault at a time. The test fails when a fault goes unnoticed, when a check notices no fault, when
anything that is right is blamed, and when this page is out of date. A mutant is put to the checks of its own area.

| | |
|---|---|
| Checks | %d |
| Mutants | %d |
| Mutants that are noticed | %d (%d %%) |
| Checks that notice a mutant | %d |
| Findings in the reference server | %d |
| Permitted variants | %d |
| Permitted variants that a check complains about | %d |

`

// markdown renders the matrix.
func (m *killMatrix) markdown() string {
	all, variants := mutants.All(), mutants.Variants()
	var b strings.Builder
	able, falsePositives := 0, 0
	for _, c := range checks.All() {
		if len(m.victims(c.ID)) > 0 {
			able++
		}
	}
	for _, n := range m.blames {
		if n > 0 {
			falsePositives++
		}
	}
	fmt.Fprintf(&b, killMatrixIntroduction, len(checks.All()), len(all), len(m.kills), 100*len(m.kills)/len(all), able,
		count(m.control, noticed), len(variants), falsePositives)
	for _, id := range slices.Sorted(maps.Keys(provedElsewhere)) {
		fmt.Fprintf(&b, "`%s` asks nothing of a server on the same machine; `%s` shows that it can fail.\n\n", id, provedElsewhere[id])
	}
	b.WriteString("## What is permitted\n\n| Variant | What it does | Complaints |\n|---|---|---|\n")
	for _, v := range variants {
		fmt.Fprintf(&b, "| `%s` | %s | %d |\n", v.ID, cell(v.Permits), m.blames[v.ID])
	}
	b.WriteString("\n## What is broken, and who notices\n")
	area := ""
	for _, mutant := range slices.SortedStableFunc(slices.Values(all), func(a, b mutants.Mutant) int {
		return strings.Compare(areaOf(a.ID), areaOf(b.ID))
	}) {
		if areaOf(mutant.ID) != area {
			area = areaOf(mutant.ID)
			fmt.Fprintf(&b, "\n### %s\n\n| Mutant | The fault | Noticed by |\n|---|---|---|\n", area)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", mutant.ID, cell(mutant.Breaks), named(m.kills[mutant.ID]))
	}
	b.WriteString("\n## What each check notices\n\n| Check | Level | Mutants |\n|---|---|---|\n")
	for _, c := range checks.All() {
		victims := m.victims(c.ID)
		cells := named(victims)
		if len(victims) == 0 {
			cells = "`" + provedElsewhere[c.ID] + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.ID, c.Level, cells)
	}
	return b.String()
}

// compare holds the page against what came out. A row is out of date when it is not there, or when nothing of what its last
// cell names came out again: whether a further check notices a fault may hang on what two requests meet.
func (m *killMatrix) compare(t *testing.T, file string) {
	t.Helper()
	got := m.markdown()
	goldentest.Update(t, file, got)
	wantRows, wantCells := rows(goldentest.Read(t, file))
	gotRows, gotCells := rows(got)
	require.Empty(t, cmp.Diff(wantRows, gotRows), "make golden rewrites it")
	for i, row := range gotRows {
		again := slices.ContainsFunc(gotCells[i], func(name string) bool { return slices.Contains(wantCells[i], name) })
		require.True(t, again, "%s: was %v, is %v; make golden rewrites it", row, wantCells[i], gotCells[i])
	}
}

// rows splits a page into its lines without the last cell of those that begin with an id, and into the names in those cells.
func rows(page string) (lines []string, cells [][]string) {
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, " |\n")
		names := []string{""}
		if i := strings.LastIndex(line, " | "); i > 0 && strings.HasPrefix(line, "| `") {
			line, names = line[:i], strings.Split(line[i+3:], ", ")
		}
		lines, cells = append(lines, line), append(cells, names)
	}
	return lines, cells
}

// named writes ids of one area without repeating it.
func named(ids []string) string {
	var out []string
	for _, id := range ids {
		_, name, _ := strings.Cut(id, ".")
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// cell makes a text safe for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
