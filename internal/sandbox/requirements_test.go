package sandbox_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/requirements"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// repository is the module's root, seen from this package.
var repository = filepath.Join("..", "..")

// proof is why a requirement is believed to be met, or why it is not meant to be.
type proof struct {
	IDs []string `json:"ids"`
	// Tests are Go tests, as folder/TestName.
	Tests []string `json:"tests,omitempty"`
	// Reason says why there is no test: the requirement is declined, or cannot be observed.
	Reason string `json:"reason,omitempty"`
}

// Every MUST that binds a server has a conformance check that the reference server passes, or a Go test, or a reason.
// docs/requirements.md shows all requirements with what proves them.
func TestEveryRequirementOfAServerIsProvedOrDeclined(t *testing.T) {
	proofs := readProofs(t)
	cited := map[string][]string{}
	for _, c := range checks.All() {
		for _, id := range c.Requirements {
			cited[id] = append(cited[id], c.ID)
		}
	}
	var table strings.Builder
	total, open := 0, 0
	section := ""
	for _, r := range requirements.All() {
		if !bindsOurServer(r) {
			continue
		}
		total++
		if r.Section != section {
			section = r.Section
			fmt.Fprintf(&table, "\n### %s\n\n| Requirement | Level | What | Proved by |\n|---|---|---|---|\n", section)
		}
		how := evidence(cited[r.ID], proofs[r.ID])
		if how == "" {
			open++
			how = "-"
		}
		if (r.Level == requirements.Must || r.Level == requirements.MustNot) && how == "-" {
			t.Errorf("%s (%s) has no check, no test and no reason: %s", r.ID, r.Level, r.Text)
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", r.ID, r.Level, strings.ReplaceAll(r.Text, "|", "\\|"), how)
	}

	got := fmt.Sprintf(requirementsIntroduction, total, open) + table.String()
	file := filepath.Join(repository, "docs", "requirements.md")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "make golden writes it")
	require.Empty(t, cmp.Diff(string(want), got), "make golden rewrites it")
}

const requirementsIntroduction = `# Requirements

What RFC 7643, RFC 7644 and RFC 9865 ask of servers, and what shows that the reference server does it. The list is generated
by a test that fails when a MUST has neither. Words with a dot, such as ` + "`filter.eq-string`" + `, are conformance checks, which the
reference server passes and which are shown to fail on servers that break the rule; names with a slash are Go tests. A text is a
reason why there is no test. "-" means that nothing shows it yet, which only SHOULD and MAY may have.

%d requirements, %d of them without a proof or a reason.
`

// bindsOurServer says whether a requirement is one that the reference server is meant for.
func bindsOurServer(r requirements.Requirement) bool {
	ours := slices.ContainsFunc([]string{"RFC7643-", "RFC7644-", "RFC9865-"}, func(p string) bool { return strings.HasPrefix(r.ID, p) })
	return ours && r.Role != requirements.Client
}

// evidence is a cell of the table, "" when there is nothing to show.
func evidence(checks []string, p proof) string {
	var parts []string
	for _, id := range checks {
		parts = append(parts, "`"+id+"`")
	}
	for _, name := range p.Tests {
		parts = append(parts, "`"+name+"`")
	}
	if p.Reason != "" {
		parts = append(parts, p.Reason)
	}
	return strings.Join(parts, ", ")
}

// readProofs reads the data file, and checks that what it names is there.
func readProofs(t *testing.T) map[string]proof {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "requirements.json"))
	require.NoError(t, err)
	var list []proof
	require.NoError(t, json.Unmarshal(data, &list))
	byID := map[string]proof{}
	for _, p := range list {
		require.True(t, len(p.Tests) > 0 || p.Reason != "", "%v", p.IDs)
		for _, name := range p.Tests {
			require.True(t, testExists(t, name), "there is no test %s", name)
		}
		for _, id := range p.IDs {
			r, ok := requirements.Lookup(id)
			require.True(t, ok, "%s is not in the catalogue", id)
			require.True(t, bindsOurServer(r), "%s does not bind the server", id)
			_, twice := byID[id]
			require.False(t, twice, "%s occurs twice", id)
			byID[id] = p
		}
	}
	return byID
}

// testExists looks for a Go test, given as folder/TestName.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	folder, function := filepath.Split(name)
	files, err := filepath.Glob(filepath.Join(repository, folder, "*_test.go"))
	require.NoError(t, err)
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(function) + `\(t \*testing\.T\) \{$`)
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		return declared.Match(data)
	})
}
