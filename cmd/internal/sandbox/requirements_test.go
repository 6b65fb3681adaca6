package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// repository is the path to the root of the module.
var repository = filepath.Join("..", "..", "..")

// proof contains the tests of a requirement, or the reason why it does not apply to this server.
type proof struct {
	IDs []string `json:"ids"`
	// Tests are Go tests and fuzz targets, as folder/TestName.
	Tests []string `json:"tests,omitempty"`
	// Binds names the actor to which the requirement applies instead of the server: clients, operators or authors of schemas.
	Binds string `json:"binds,omitempty"`
	// Reason explains the tests, or why there are none.
	Reason string `json:"reason,omitempty"`
}

// Every MUST that binds the server has a conformance check that the reference server passes, or a Go test. Every SHOULD has one of these or
// a reason. docs/generated/requirements.md lists all requirements with their proofs.
func TestRequirements_ProvedOrJustified(t *testing.T) {
	proofs := readProofs(t)
	cited := map[string][]string{}
	for _, c := range checks.All() {
		for _, id := range c.Requirements {
			cited[id] = append(cited[id], c.ID)
		}
	}
	var table strings.Builder
	count := map[string]int{}
	section := ""
	for _, r := range requirements.All() {
		if !bindsOurServer(r) {
			continue
		}
		if r.Section != section {
			section = r.Section
			fmt.Fprintf(&table, "\n### %s\n\n| Requirement | Level | What | Proved by |\n|---|---|---|---|\n", section)
		}
		p := proofs[r.ID]
		tested := len(cited[r.ID])+len(p.Tests) > 0
		must := r.Level == requirements.Must || r.Level == requirements.MustNot
		how := evidence(cited[r.ID], p)
		count["all"]++
		switch {
		case p.Binds != "":
			count["others"]++
		case tested:
			count["tested"]++
		case r.Level == requirements.May:
			count["permissions"]++
			if how == "" {
				how = "A permission."
			}
		default:
			count["reason"]++
			if must {
				t.Errorf("%s (%s) has no check that cites it and no entry in testdata/requirements.json: %s", r.ID, r.Level, r.Text)
			}
			if how == "" {
				t.Errorf("%s (%s) has no check that cites it, and neither tests nor a reason in testdata/requirements.json: %s", r.ID, r.Level, r.Text)
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", r.ID, r.Level, strings.ReplaceAll(r.Text, "|", "\\|"), how)
	}

	got := fmt.Sprintf(requirementsIntroduction, count["all"], count["tested"], count["others"], count["reason"], count["permissions"]) +
		table.String()
	file := filepath.Join(repository, "docs", "generated", "requirements.md")
	goldentest.Check(t, file, got)
}

const requirementsIntroduction = `# Requirements

This page is for users who judge the reference server or the conformance suite, and for developers who change one of them.

This page lists the requirements of RFC 7643, RFC 7644 and RFC 9865 for servers, and the proof that the reference server (the SCIM ` +
	`server of this module) satisfies each of them.
A test generates the page. The test fails if a MUST has no proof, or if a SHOULD has neither a proof nor a reason. The column "Proved ` +
	`by" contains:

- names with a dot, such as ` + "`filter.eq-string`" + `: checks of the conformance suite. The reference server passes each of them, ` +
	`and each fails for at least one server with a fault ([kill-matrix.md](kill-matrix.md));
- names with a slash: Go tests;
- other text, which explains the proof, or is the reason why there is no proof.

Some requirements do not apply to the server software, but to authors of clients, to operators who install a server and issue tokens, ` +
	`or to authors of
schemas. The entry of such a requirement starts with "Binds", the actor and the reason.

The page has %d requirements: %d with a check or a test, %d that apply to other actors, %d with the level SHOULD that the server does ` +
	`not follow or that no test can observe (each with the reason), and
%d permissions without a test.
`

// bindsOurServer reports whether a requirement applies to the reference server.
func bindsOurServer(r requirements.Requirement) bool {
	ours := slices.ContainsFunc([]string{"RFC7643-", "RFC7644-", "RFC9865-"}, func(p string) bool { return strings.HasPrefix(r.ID, p) })
	return ours && r.Role != requirements.Client
}

// evidence returns the cell of the table for a requirement, "" if it has neither tests nor a reason.
func evidence(checks []string, p proof) string {
	var parts []string
	if p.Binds != "" {
		parts = append(parts, "Binds "+p.Binds)
	}
	for _, id := range checks {
		parts = append(parts, "`"+id+"`")
	}
	for _, name := range p.Tests {
		parts = append(parts, "`"+name+"`")
	}
	how := strings.Join(parts, ", ")
	if p.Reason == "" || how == "" {
		return how + p.Reason
	}
	return how + ". " + p.Reason
}

// readProofs reads the data file and checks that the named tests and requirements exist.
func readProofs(t *testing.T) map[string]proof {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "requirements.json"))
	require.NoError(t, err)
	var list []proof
	require.NoError(t, json.Unmarshal(data, &list))
	byID := map[string]proof{}
	for _, p := range list {
		require.True(t, len(p.Tests) > 0 || p.Reason != "", "%v", p.IDs)
		require.True(t, p.Binds == "" || p.Reason != "", "why does %v bind %s?", p.IDs, p.Binds)
		for _, name := range p.Tests {
			require.True(t, testExists(t, name), "test %s does not exist", name)
		}
		for _, id := range p.IDs {
			r, ok := requirements.Lookup(id)
			require.True(t, ok, "%s is not in the catalog", id)
			require.True(t, bindsOurServer(r), "%s does not bind the server", id)
			_, twice := byID[id]
			require.False(t, twice, "%s occurs twice", id)
			byID[id] = p
		}
	}
	return byID
}

// testExists reports whether a Go test or fuzz target exists, given as folder/TestName.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	folder, function := filepath.Split(name)
	files, err := filepath.Glob(filepath.Join(repository, folder, "*_test.go"))
	require.NoError(t, err)
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(function) + `\((t \*testing\.T|f \*testing\.F)\) \{$`)
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		return declared.Match(data)
	})
}

// RFC 7644 section 7.4: generated tokens have enough entropy. RFC 6750 and RFC 6819 require 128 bits.
func TestGeneratedTokens_HaveEntropy(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	letters := map[rune]bool{}
	least := 1 << 10
	for range 3 {
		s, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		require.False(t, seen[s.Token()], "tokens are unique")
		seen[s.Token()] = true
		least = min(least, len(s.Token()))
		for _, c := range s.Token() {
			letters[c] = true
		}
		require.NoError(t, s.Close(context.Background()))
	}
	require.GreaterOrEqual(t, float64(least)*math.Log2(float64(len(letters))), 128.0, "bits, from length and alphabet")
}
