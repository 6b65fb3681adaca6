package sandbox_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/mutants"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// talk holds the conversations of profiles with a handler.
func talk(t *testing.T, h http.Handler, selected ...conformance.Profile) *conformance.Result {
	t.Helper()
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{h}}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Profiles: selected})
	require.NoError(t, err)
	return r
}

// withQuirk puts one quirk with its default argument in front of a server.
func withQuirk(t *testing.T, h http.Handler, name string) http.Handler {
	t.Helper()
	setting, err := quirks.Parse(name)
	require.NoError(t, err)
	server, err := quirks.New(h, setting)
	require.NoError(t, err)
	return server
}

func TestEveryClientWorksWithTheReferenceServer(t *testing.T) {
	for _, p := range profiles.All() {
		t.Run(p.ID, func(t *testing.T) {
			r := talk(t, newReferenceServer(t), p)
			for _, c := range r.Checks {
				require.Equal(t, conformance.Pass, c.Outcome, "%s", describe(c))
				require.LessOrEqual(t, c.Requests, c.Check.Requests, c.Check.ID)
			}
			require.Len(t, r.Profiles, len(p.Conversations))
			for _, v := range r.Profiles {
				require.Equal(t, conformance.Works, v.Fit, "%+v", v)
				require.Empty(t, v.Limits)
				require.Equal(t, p.Doubt, v.Doubt)
			}
			require.Empty(t, r.Leftovers)
			require.Equal(t, conformance.Clean, r.Verdict, r.Reason)
		})
	}
}

// What the RFCs leave open may cost a client a feature, but only where the client is known to want more.
func TestNoClientBreaksOnWhatIsPermittedUnlessItWantsMore(t *testing.T) {
	wantsMore := map[string]string{
		"few-operators":    "entra", // brackets in filters
		"conflict-bare":    "",
		"resources-absent": "",
	}
	for _, v := range alltest.Sample(mutants.Variants(), 10) {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			for _, verdict := range talk(t, v.Wrap(newReferenceServer(t)), profiles.All()...).Profiles {
				if verdict.Profile != wantsMore[v.ID] {
					require.NotEqual(t, conformance.Breaks, verdict.Fit, "%s\n%+v\n%+v", v.Permits, verdict, verdict.Finding)
				}
			}
		})
	}
}

func TestEveryStepOfEveryConversationIsBrokenByAFault(t *testing.T) {
	alltest.Only(t, "has every client talk to a server with each of a hundred faults")
	var mu sync.Mutex
	broken := map[string]bool{}
	t.Run("faults", func(t *testing.T) {
		for _, m := range mutants.Incompatible() {
			t.Run(m.ID, func(t *testing.T) {
				t.Parallel()
				r := talk(t, m.Wrap(newReferenceServer(t)), profiles.All()...)
				hurt := slices.ContainsFunc(r.Profiles, func(v conformance.ProfileResult) bool { return v.Fit != conformance.Works })
				require.True(t, hurt, "no client minds that %s", m.Breaks)
				mu.Lock()
				defer mu.Unlock()
				for _, c := range r.Checks {
					broken[c.Check.ID] = broken[c.Check.ID] || len(c.Findings) > 0
				}
			})
		}
	})
	for _, p := range profiles.All() {
		for _, c := range p.Checks() {
			require.True(t, broken[c.ID], "no fault breaks %s: nothing shows that it can fail", c.ID)
		}
	}
}

// docs/clients.md says which habits of servers break which client, at which step: what the profiles make of the table of
// quirks.
func TestQuirksOfServersBreakClientsWhereTheListSays(t *testing.T) {
	if !*update {
		alltest.Only(t, "has every client talk to a server with each of the quirks")
	}
	var mu sync.Mutex
	rows := map[string]string{}
	var names []string
	t.Run("quirks", func(t *testing.T) {
		for _, q := range quirks.All() {
			// Some need an argument or time, some leave nothing to talk to.
			if q.Category == quirks.Chaos || slices.Contains([]string{"lookup-lag", "ignores-attribute", "unauthorized", "forbidden", "login-page"}, q.Name) {
				continue
			}
			names = append(names, q.Name)
			t.Run(q.Name, func(t *testing.T) {
				t.Parallel()
				verdicts := talk(t, withQuirk(t, newReferenceServer(t), q.Name), profiles.All()...).Profiles
				mu.Lock()
				defer mu.Unlock()
				rows[q.Name] = row(q, verdicts)
			})
		}
	})
	list := clientsIntroduction
	for _, name := range names {
		list += rows[name]
	}
	file := filepath.Join(repository, "docs", "clients.md")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(list), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "make golden writes it")
	require.Empty(t, cmp.Diff(string(want), list), "make golden rewrites it")
}

const clientsIntroduction = `# Clients

What habits of servers do to known provisioning clients: the verdicts of the conformance suite's profiles on the reference
server with one quirk each ([quirks.md](quirks.md)). The list is generated by a test. A client that a row does not name works.

| The server | Breaks, at its first step that does not work | Works with limits |
|---|---|---|
`

func row(q quirks.Quirk, verdicts []conformance.ProfileResult) string {
	var breaks, limited []string
	for _, v := range verdicts {
		name := strings.TrimSuffix(v.Profile+"-"+v.Conversation, "-")
		switch v.Fit {
		case conformance.Breaks:
			breaks = append(breaks, fmt.Sprintf("`%s`", v.Step))
		case conformance.WorksWithLimits:
			limited = append(limited, name)
		}
	}
	return fmt.Sprintf("| `%s`: %s | %s | %s |\n", q.Name, q.Does, strings.Join(breaks, ", "), strings.Join(limited, ", "))
}
