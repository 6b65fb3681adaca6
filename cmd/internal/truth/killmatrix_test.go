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

// A killMatrix collects the checks that detect each mutant, and the results of the suite for correct servers.
type killMatrix struct {
	control *conformance.Result

	mu     sync.Mutex
	kills  map[string][]string // ids of checks by mutant
	blames map[string]int      // number of complaints by variant
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
	m.blames[v.ID] = count(r, complains)
}

// complete reports whether all mutants and variants were run and every mutant was detected.
func (m *killMatrix) complete() bool {
	return m.control != nil && len(m.blames) == len(mutants.Variants()) && len(m.kills) == len(mutants.All())
}

// victims returns the mutants that a check detects, in the order of mutants.All.
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

This page is for users who judge the conformance suite, and for developers who change its checks.

This page shows which faults the checks of the conformance suite detect. A test generates it. The test runs the suite against three ` +
	`kinds of servers:

- the reference server, which is the SCIM server of this module;
- variants: the reference server with one difference that the RFCs permit;
- mutants: the reference server with one fault.

The test runs the checks of the area of a mutant against it. A check detects a mutant if it fails. The test fails in these cases: no ` +
	`check detects a mutant, a check detects no mutant, a check
reports a finding about the reference server or a variant, or this page is out of date.

The tables omit the area in the ids of checks and mutants if the area follows from the heading or from the first column.

| | |
|---|---|
| Checks | %d |
| Mutants | %d |
| Detected mutants | %d (%d %%) |
| Checks that detect a mutant | %d |
| Findings in the reference server | %d |
| Permitted variants | %d |
| Permitted variants with findings | %d |

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
		fmt.Fprintf(&b, "`%s` is skipped for servers on the same machine; `%s` proves that it can fail.\n\n", id, provedElsewhere[id])
	}
	b.WriteString("## Permitted variants\n\n| Variant | Difference | Findings |\n|---|---|---|\n")
	for _, v := range variants {
		fmt.Fprintf(&b, "| `%s` | %s | %d |\n", v.ID, cell(v.Permits), m.blames[v.ID])
	}
	b.WriteString("\n## Mutants\n")
	area := ""
	for _, mutant := range slices.SortedStableFunc(slices.Values(all), func(a, b mutants.Mutant) int {
		return strings.Compare(areaOf(a.ID), areaOf(b.ID))
	}) {
		if areaOf(mutant.ID) != area {
			area = areaOf(mutant.ID)
			fmt.Fprintf(&b, "\n### %s\n\n| Mutant | Fault | Detected by |\n|---|---|---|\n", area)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", mutant.ID, cell(mutant.Breaks), named(m.kills[mutant.ID]))
	}
	b.WriteString("\n## Mutants by check\n\n| Check | Level | Mutants |\n|---|---|---|\n")
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

// compare compares the page with the results of this run. A row is up to date if the results have the same row and at least one of the
// names in its last cell. Not all names are required, because the order of concurrent requests can change which further checks detect a
// fault.
func (m *killMatrix) compare(t *testing.T, file string) {
	t.Helper()
	got := m.markdown()
	goldentest.Update(t, file, got)
	wantRows, wantCells := rows(goldentest.Read(t, file))
	gotRows, gotCells := rows(got)
	require.Empty(t, cmp.Diff(wantRows, gotRows), "the page is out of date: run the test with -update")
	for i, row := range gotRows {
		again := slices.ContainsFunc(gotCells[i], func(name string) bool { return slices.Contains(wantCells[i], name) })
		require.True(t, again, "%s: was %v, is %v: run the test with -update", row, wantCells[i], gotCells[i])
	}
}

// rows returns the lines of a page and, for each line, the names in its last cell. If a line is a row of a table that starts
// with an id, rows returns the line without its last cell. For any other line, the only name is empty.
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

// named returns a list of ids without the area.
func named(ids []string) string {
	var out []string
	for _, id := range ids {
		_, name, _ := strings.Cut(id, ".")
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// cell escapes a string for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
