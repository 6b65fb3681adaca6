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
	"github.com/scimwright/scimwright/engine/internal/probe"
)

// able returns the traits of a target that supports everything, except for the given changes.
func able(changes engine.Traits) engine.Traits {
	out := engine.Traits{
		engine.NoPatch: false, engine.NoPut: false, engine.NeedsPath: false, engine.NoValuePath: false, engine.NoMembersReplace: false,
		engine.NoUserFilter: false, engine.NoGroupFilter: false, engine.MembersHidden: false, engine.PatchTrusted: true, engine.PutTrusted: true,
	}
	for t, holds := range changes {
		out[t] = holds
	}
	return out
}

func without(t engine.Traits, missing ...engine.Trait) engine.Traits {
	for _, m := range missing {
		delete(t, m)
	}
	return t
}

func TestTraitsOf(t *testing.T) {
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
		want   engine.Traits
	}{
		"everything works": {func(http.ResponseWriter, *http.Request) bool { return false }, able(nil)},
		"no PATCH of users": {
			func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPatch && user(r) && refuse(w, 501)
			},
			without(able(engine.Traits{engine.NoPatch: true}), engine.NeedsPath, engine.PatchTrusted),
		},
		"PATCH of users that changes nothing": {
			func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPatch && user(r) && ignored(w)
			},
			without(able(engine.Traits{engine.NoPatch: true, engine.PatchTrusted: false}), engine.NeedsPath),
		},
		"no PUT": {
			func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodPut && refuse(w, 405) },
			without(able(engine.Traits{engine.NoPut: true}), engine.PutTrusted),
		},
		"operations need a path": {
			func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPatch && !strings.Contains(peek(r), `"path"`) && refuse(w, 400)
			},
			able(engine.Traits{engine.NeedsPath: true}),
		},
		"a path must not have a filter":      {patched("value eq", refused), able(engine.Traits{engine.NoValuePath: true})},
		"users cannot be found by a filter":  {filtered("/Users", 501), able(engine.Traits{engine.NoUserFilter: true})},
		"groups cannot be found by a filter": {filtered("/Groups", 400), able(engine.Traits{engine.NoGroupFilter: true})},
		"members cannot be replaced": {
			func(w http.ResponseWriter, r *http.Request) bool {
				b := peek(r)
				return r.Method == http.MethodPatch && strings.Contains(b, `"replace"`) && strings.Contains(b, `"members"`) && refuse(w, 400)
			},
			able(engine.Traits{engine.NoMembersReplace: true}),
		},
		"no groups": {
			func(w http.ResponseWriter, r *http.Request) bool { return !user(r) && refuse(w, 404) },
			without(able(nil), engine.NoValuePath, engine.NoMembersReplace, engine.NoGroupFilter, engine.MembersHidden),
		},
		"users cannot be created": {
			func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPost && refuse(w, 400)
			},
			engine.Traits{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tried(t, before(target(), c.answer), engine.ProbeOptions{})
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(c.want, probe.TraitsOf(got)), "%+v", got.Results)
		})
	}
}

func TestTraitsOf_IgnoredFilter(t *testing.T) {
	p := engine.Profile{
		Results: []engine.ProbeResult{{Feature: engine.FeatureLookupMiss, Verdict: engine.ProbeNoEffect},
			{Feature: engine.FeatureLookupUserName, Verdict: engine.ProbeWorks}}}
	require.Empty(t, cmp.Diff(engine.Traits{engine.NoUserFilter: true}, probe.TraitsOf(p)))
}

func TestTraitsOf_HiddenMembers(t *testing.T) {
	p := engine.Profile{Results: []engine.ProbeResult{{Feature: engine.FeatureShowsMembers, Verdict: engine.ProbeRefused}}}
	require.Empty(t, cmp.Diff(engine.Traits{engine.MembersHidden: true}, probe.TraitsOf(p)))
}

func filtered(endpoint string, status int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, endpoint) && r.URL.Query().Has("filter") && refuse(w, status)
	}
}

// peek returns the body and restores it for the next reader.
func peek(r *http.Request) string {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	return string(b)
}
