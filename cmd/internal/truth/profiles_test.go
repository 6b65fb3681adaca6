package truth_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// runProfiles runs the client flows of profiles against a handler.
func runProfiles(t *testing.T, h http.Handler, selected ...conformance.Profile) *conformance.Result {
	t.Helper()
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{h}}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Profiles: selected})
	require.NoError(t, err)
	return r
}

// withQuirk returns a server with one quirk with its default argument.
func withQuirk(t *testing.T, h http.Handler, name string) http.Handler {
	t.Helper()
	setting, err := quirks.Parse(name)
	require.NoError(t, err)
	server, err := quirks.New(h, setting)
	require.NoError(t, err)
	return server
}

func TestProfiles_PassOnReferenceServer(t *testing.T) {
	t.Parallel()
	for _, p := range profiles.All() {
		t.Run(p.ID, func(t *testing.T) {
			r := runProfiles(t, newReferenceServer(t), p)
			require.Empty(t, r.Checks, "the steps are in the profiles")
			for c := range r.All() {
				require.Equal(t, conformance.Pass, c.Outcome, "%s", describe(*c))
				require.LessOrEqual(t, c.Requests, c.Check.Requests, c.Check.ID)
			}
			require.Len(t, r.Profiles, len(p.ClientFlows))
			for _, v := range r.Profiles {
				require.Equal(t, conformance.Works, v.Compatibility, "%+v", v)
				require.Empty(t, v.Limits)
				require.Equal(t, p.Doubt, v.Doubt)
			}
			require.Empty(t, r.Leftovers)
			require.Equal(t, conformance.Clean, r.Verdict, r.Reason)
		})
	}
}

// A permitted variant breaks a profile only if its client is known to require more than the RFCs.
func TestProfiles_AcceptPermittedVariants(t *testing.T) {
	t.Parallel()
	everyClient := []string{"authentik", "entra", "google", "jumpcloud", "okta", "onelogin", "ping"}
	wantsMore := map[string][]string{
		"few-operators": {"entra"}, // brackets in filters
		// These clients send requests that the RFCs permit a server to reject.
		"display-name-read-only": {"entra"},
		"no-filter":              everyClient,
		"emails-create-rejected": everyClient,
		"no-patch":               {"entra", "jumpcloud", "okta", "onelogin"},
	}
	for _, v := range alltest.Sample(mutants.Variants(), 10) {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			for _, verdict := range runProfiles(t, v.Wrap(newReferenceServer(t)), profiles.All()...).Profiles {
				if !slices.Contains(wantsMore[v.ID], verdict.Profile) {
					assert.NotEqual(t, conformance.Breaks, verdict.Compatibility, "%s\n%+v", v.Permits, verdict.Breaks)
				}
			}
		})
	}
}

// TestProfiles_EveryStepCanFail checks that each fault fails a client flow, and that each step of each flow fails on a fault.
func TestProfiles_EveryStepCanFail(t *testing.T) {
	t.Parallel()
	alltest.Only(t, "runs all client flows with each of about 100 faults")
	var mu sync.Mutex
	broken := map[string]bool{}
	t.Run("faults", func(t *testing.T) {
		for _, m := range mutants.Incompatible() {
			t.Run(m.ID, func(t *testing.T) {
				t.Parallel()
				r := runProfiles(t, m.Wrap(newReferenceServer(t)), profiles.All()...)
				hurt := slices.ContainsFunc(r.Profiles, func(v conformance.ProfileResult) bool { return v.Compatibility != conformance.Works })
				require.True(t, hurt, "no client flow fails although %s", m.Breaks)
				mu.Lock()
				defer mu.Unlock()
				for c := range r.All() {
					broken[c.Check.ID] = broken[c.Check.ID] || len(c.Findings) > 0
				}
			})
		}
	})
	for _, p := range profiles.All() {
		for _, c := range p.Checks() {
			require.True(t, broken[c.ID], "no fault fails %s: no proof that the step can fail", c.ID)
		}
	}
}

// docs/reference/clients.md lists the quirks that break a client, and the steps that fail: the verdicts of the profiles for each quirk.
func TestProfiles_BreakOnListedQuirks(t *testing.T) {
	t.Parallel()
	if !goldentest.Updating() {
		alltest.Only(t, "runs all client flows with each quirk")
	}
	var mu sync.Mutex
	rows := map[string]string{}
	var names []string
	t.Run("quirks", func(t *testing.T) {
		for _, q := range quirks.All() {
			if q.Category == quirks.Chaos || slices.Contains(untypical, q.Name) {
				continue
			}
			names = append(names, q.Name)
			t.Run(q.Name, func(t *testing.T) {
				t.Parallel()
				verdicts := runProfiles(t, withQuirk(t, newReferenceServer(t), q.Name), profiles.All()...).Profiles
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
	file := filepath.Join(repository, "docs", "reference", "clients.md")
	goldentest.Check(t, file, list)
}

const clientsIntroduction = `# Clients

This page is for developers of SCIM servers.

This page lists the known provisioning clients that do not work completely with a server that has a quirk. A quirk is a deviation ` +
	`that the SCIM server can simulate ([quirks.md](quirks.md)).
A test generates the page: it runs the client flows of the conformance suite against the reference server with one quirk at a time. A ` +
	`client flow is a series of steps, such as ` + "`create`" + ` or
` + "`deactivate`" + `, with the requests that a client sends; ` + "`scim-conformance explain okta.catalog-deactivate`" + ` describes ` +
	`a step. The second column lists the clients whose provisioning breaks, with the steps that fail. It omits steps that fail only ` +
	`because an earlier
step fails. The third column lists the clients whose provisioning works with limits: no step breaks it, but a value that the client
sends is not stored or not returned, a step could not be tested or verified, or it is unknown whether the client continues after a ` +
	`response. All clients that a row does not name work with the quirk.

The name of a client is that of its profile (` + "`--profile`" + `): ` + "`ping`" + ` is PingFederate, ` + "`google`" + ` is Google ` +
	`Workspace. If the client has several
flows, the name of the flow follows. ` + "`okta-catalog`" + ` is an application of Okta's catalog, and ` + "`okta-wizard`" + ` one ` +
	`that was created with the
wizard. ` + "`entra-default`" + ` is Entra ID with a tenant URL without flags, and ` + "`entra-flag`" + ` with the flag ` +
	`aadOptscim062020. ` + "`authentik-patch`" + `
is authentik with a target that supports PATCH, and ` + "`authentik-put`" + ` with one that does not.

| Quirk | Broken clients, with the steps that fail | Clients that work with limits |
|---|---|---|
`

func row(q quirks.Quirk, verdicts []conformance.ProfileResult) string {
	var breaks, limited []string
	for _, v := range verdicts {
		switch v.Compatibility {
		case conformance.Breaks:
			var steps []string
			for _, b := range v.Breaks {
				_, step, _ := strings.Cut(b.Check, ".")
				step = strings.TrimPrefix(step, v.ClientFlow+"-")
				steps = append(steps, "`"+step+"`")
			}
			breaks = append(breaks, v.ID()+": "+strings.Join(steps, ", "))
		case conformance.WorksWithLimits:
			limited = append(limited, v.ID())
		}
	}
	return fmt.Sprintf("| `%s`: %s | %s | %s |\n", q.Name, q.Does, strings.Join(breaks, "; "), strings.Join(limited, ", "))
}

// TestProfiles_DoubtfulStatusIsOnlyLimit checks that a status of which it is unknown whether the client accepts it does not add the limit
// of a step that fails: the target performed the request.
func TestProfiles_DoubtfulStatusIsOnlyLimit(t *testing.T) {
	t.Parallel()
	r := runProfiles(t, withQuirk(t, newReferenceServer(t), "create-200"), profiles.All()...)
	limits := 0
	for _, v := range r.Profiles {
		for _, limit := range v.Limits {
			require.Regexp(t, `^POST /(Users|Groups) returns 200: it is unknown whether the client continues$`, limit, v.Client)
			limits++
		}
	}
	require.NotZero(t, limits)
}

// TestProfiles_DiagnosesFollowResponse checks which steps break on a quirk, that steps which fail only because an earlier one failed are
// counted apart, and that the fix names the fault.
func TestProfiles_DiagnosesFollowResponse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		quirk, profile, flow string
		breaks               []string
		untried              int
		fix                  string // of every step
	}{
		{"start-index-ignored", "okta", "wizard", []string{"import-order"}, 0, "Apply startIndex: the target ignores it"},
		{"total-of-page", "okta", "wizard", []string{"import-order"}, 0, "the number of all matches as totalResults"},
		{"filter-ignored", "onelogin", "", []string{"lookup-nobody"}, 0, `Apply the filter userName eq "…"`},
		{"no-filter", "google", "", []string{"lookup-nobody", "lookup-found"}, 0, `Support the filter userName eq "…" for users`},
		{"counts-as-strings", "google", "", []string{"lookup-nobody", "lookup-found"}, 0, "as JSON integers, not as strings"},
		{"active-as-string", "google", "", []string{"create", "update", "suspend", "restore"}, 0, "active as a JSON boolean"},
		{"no-put", "okta", "catalog", []string{"update"}, 0, "Support PUT of users"},
		{"no-put", "okta", "wizard", []string{"update", "deactivate", "reactivate"}, 1, "Support PUT of users"},
		{"members-lost", "ping", "", []string{"group-create"}, 0, "Store the members of the request"},
		{"put-lost", "google", "", []string{"update", "suspend"}, 0, "Apply PUT of users: the target returns a success status"},
		{"patch-add-replaces", "entra", "default", []string{"group-join-again"}, 1, "store one entry"},
		{"case-sensitive-user-name", "entra", "flag", []string{"lookup-found"}, 0, "Compare userName case-insensitively"},
		{"create-empty", "google", "", []string{"create"}, 5, "Return 201 with the whole user"},
	} {
		t.Run(tt.quirk+" "+tt.profile+tt.flow, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(profiles.All(), func(p conformance.Profile) bool { return p.ID == tt.profile })
			r := runProfiles(t, withQuirk(t, newReferenceServer(t), tt.quirk), profiles.All()[i])
			require.Equal(t, conformance.Findings, r.Verdict)
			require.Zero(t, r.Count(conformance.Warn), "a step is not a check that warns")
			f := r.Profiles[slices.IndexFunc(r.Profiles, func(f conformance.ProfileResult) bool { return f.ClientFlow == tt.flow })]
			require.Equal(t, conformance.Breaks, f.Compatibility)
			var broken []string
			for _, b := range f.Breaks {
				_, step, _ := strings.Cut(b.Check, ".")
				broken = append(broken, strings.TrimPrefix(step, tt.flow+"-"))
				require.Contains(t, b.Fix, tt.fix, b.Check)
				require.NotNil(t, b.Finding.Exchange, b.Check)
			}
			require.Equal(t, tt.breaks, broken)
			require.Equal(t, tt.untried, f.Untried)
		})
	}
}
