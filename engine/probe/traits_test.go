package probe_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/plan"
	"github.com/scimwright/scimwright/engine/probe"
)

// able are the traits of a target that can do everything, with changes.
func able(changes plan.Traits) plan.Traits {
	out := plan.Traits{
		plan.NoPatch: false, plan.NoPut: false, plan.NeedsPath: false, plan.NoValuePath: false, plan.NoMembersReplace: false,
		plan.NoUserFilter: false, plan.NoGroupFilter: false, plan.MembersHidden: false, plan.PatchTrusted: true, plan.PutTrusted: true,
	}
	for t, holds := range changes {
		out[t] = holds
	}
	return out
}

func without(t plan.Traits, missing ...plan.Trait) plan.Traits {
	for _, m := range missing {
		delete(t, m)
	}
	return t
}

func TestWhatAProbeSawBecomesTraits(t *testing.T) {
	type answer = func(http.ResponseWriter, *http.Request) bool
	user := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/Users") }
	patched := func(fragment string, then func(http.ResponseWriter) bool) answer {
		return func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPatch && strings.Contains(peek(r), fragment) == (fragment != "") && then(w)
		}
	}
	refused := func(w http.ResponseWriter) bool { return refuse(w, 400) }
	for name, c := range map[string]struct {
		answer answer
		want   plan.Traits
	}{
		"all works": {func(http.ResponseWriter, *http.Request) bool { return false }, able(nil)},
		"no PATCH of users": {
			func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPatch && user(r) && refuse(w, 501)
			},
			without(able(plan.Traits{plan.NoPatch: true}), plan.NeedsPath, plan.PatchTrusted),
		},
		"PATCH of users that changes nothing": {
			func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPatch && user(r) && ignored(w)
			},
			without(able(plan.Traits{plan.NoPatch: true, plan.PatchTrusted: false}), plan.NeedsPath),
		},
		"no PUT": {
			func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodPut && refuse(w, 405) },
			without(able(plan.Traits{plan.NoPut: true}), plan.PutTrusted),
		},
		"operations need a path": {
			func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPatch && !strings.Contains(peek(r), `"path"`) && refuse(w, 400)
			},
			able(plan.Traits{plan.NeedsPath: true}),
		},
		"a path must not have a filter":     {patched("value eq", refused), able(plan.Traits{plan.NoValuePath: true})},
		"users cannot be found by a filter": {filtered("/Users", 501), able(plan.Traits{plan.NoUserFilter: true})},
		"nor can groups":                    {filtered("/Groups", 400), able(plan.Traits{plan.NoGroupFilter: true})},
		"members cannot be replaced": {
			func(w http.ResponseWriter, r *http.Request) bool {
				b := peek(r)
				return r.Method == http.MethodPatch && strings.Contains(b, `"replace"`) && strings.Contains(b, `"members"`) && refuse(w, 400)
			},
			able(plan.Traits{plan.NoMembersReplace: true}),
		},
		"no groups": {
			func(w http.ResponseWriter, r *http.Request) bool { return !user(r) && refuse(w, 404) },
			without(able(nil), plan.NoValuePath, plan.NoMembersReplace, plan.NoGroupFilter, plan.MembersHidden),
		},
		"users cannot be created": {
			func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPost && refuse(w, 400)
			},
			plan.Traits{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tried(t, before(target(), c.answer), engine.ProbeOptions{})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(c.want, probe.TraitsOf(got)), "%+v", got.Results)
		})
	}
}

func TestAnIgnoredFilterMeansThatTheListIsRead(t *testing.T) {
	p := engine.Profile{Results: []engine.ProbeResult{{Feature: engine.FeatureLookupMiss, Verdict: engine.ProbeNoEffect}, {Feature: engine.FeatureLookupUserName, Verdict: engine.ProbeWorks}}}
	require.Empty(t, cmp.Diff(plan.Traits{plan.NoUserFilter: true}, probe.TraitsOf(p)))
}

func TestMembersThatAreNotShownAreHidden(t *testing.T) {
	p := engine.Profile{Results: []engine.ProbeResult{{Feature: engine.FeatureShowsMembers, Verdict: engine.ProbeRefused}}}
	require.Empty(t, cmp.Diff(plan.Traits{plan.MembersHidden: true}, probe.TraitsOf(p)))
}

func filtered(endpoint string, status int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, endpoint) && r.URL.Query().Has("filter") && refuse(w, status)
	}
}

// peek reads the body and leaves it to be read again.
func peek(r *http.Request) string {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	return string(b)
}
