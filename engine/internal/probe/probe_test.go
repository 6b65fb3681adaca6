package probe_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/probe"
	"github.com/scimwright/scimwright/scim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tried probes a handler: the target behind the middleware of a test.
func tried(t *testing.T, h http.Handler, o engine.ProbeOptions) (engine.Profile, error) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	client, err := connect.New(
		connect.Config{BaseURL: server.URL, Network: &connect.Network{Transport: server.Client().Transport}, Auth: engine.Auth{Secret: "t0ken"}})
	require.NoError(t, err)
	if o.Settle == 0 {
		o.Settle = time.Nanosecond
	}
	o.Marker, o.Now = "probe-1", func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	return probe.Run(t.Context(), client, o)
}

func target() *enginetest.Target {
	fake := enginetest.NewTarget()
	fake.Token, fake.ETags = "t0ken", true
	return fake
}

// differing returns the features that do not work.
func differing(p engine.Profile) map[engine.Feature]engine.ProbeVerdict {
	out := map[engine.Feature]engine.ProbeVerdict{}
	for _, r := range p.Results {
		if r.Verdict != engine.ProbeWorks {
			out[r.Feature] = r.Verdict
		}
	}
	return out
}

func TestProbe_FullyCapableTarget(t *testing.T) {
	fake := target()
	got, err := tried(t, fake, engine.ProbeOptions{})
	require.NoError(t, err)
	for _, r := range got.Results {
		require.Equal(t, engine.ProbeWorks, r.Verdict, "%+v", r)
	}
	usable, missing := got.Usable()
	require.True(t, usable, missing)
	require.Empty(t, fake.Users())
	require.Empty(t, fake.Groups())
	require.Empty(t, got.Leftovers)
	require.Len(t, fake.Requests(), got.Requests)

	text, err := json.Marshal(got)
	require.NoError(t, err)
	var back engine.Profile
	require.NoError(t, json.Unmarshal(text, &back))
	require.Empty(t, cmp.Diff(got, back))
}

// before is a middleware that responds to some requests itself: answer returns false to forward a request.
func before(h http.Handler, answer func(http.ResponseWriter, *http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			h.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, status int) bool {
	w.Header().Set("Content-Type", scim.MediaType)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"schemas":["` + scim.ErrorMessage + `"],"detail":"not here","status":"` + http.StatusText(status) + `"}`))
	return true
}

func ignored(w http.ResponseWriter) bool {
	w.WriteHeader(http.StatusNoContent)
	return true
}

func TestProbe_DetectsMissingFeatures(t *testing.T) {
	type verdicts = map[engine.Feature]engine.ProbeVerdict
	user := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/Users") }
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		want   verdicts
		usable bool
	}{
		"no PATCH of users": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPatch && user(r) && refuse(w, 501)
		}, verdicts{
			engine.FeaturePatchPath: engine.ProbeRefused, engine.FeaturePatchNoPath: engine.ProbeRefused,
			engine.FeatureDeactivatePatch: engine.ProbeRefused, engine.FeatureDeactivatePath: engine.ProbeRefused,
		}, true},
		"PATCH that changes nothing": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPatch && user(r) && ignored(w)
		}, verdicts{
			engine.FeaturePatchPath: engine.ProbeNoEffect, engine.FeaturePatchNoPath: engine.ProbeNoEffect,
			engine.FeatureDeactivatePatch: engine.ProbeNoEffect, engine.FeatureDeactivatePath: engine.ProbeNoEffect,
		}, true},
		"no PUT": {func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodPut && refuse(w, 405) }, verdicts{
			engine.FeaturePutUser: engine.ProbeRefused, engine.FeatureDeactivatePut: engine.ProbeRefused,
			engine.FeaturePutGroup: engine.ProbeRefused, engine.FeatureEntityTags: engine.ProbeRefused,
		}, true},
		"filters are ignored": {func(_ http.ResponseWriter, r *http.Request) bool {
			q := r.URL.Query()
			q.Del("filter")
			r.URL.RawQuery = q.Encode()
			return false
		}, verdicts{}, true}, // not detected, because the target has no other user; see TestProbe_DetectsIgnoredFilter
		"no filters": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.URL.Query().Has("filter") && refuse(w, 501)
		}, verdicts{
			engine.FeatureLookupMiss: engine.ProbeRefused, engine.FeatureLookupUserName: engine.ProbeRefused,
			engine.FeatureLookupExternalID: engine.ProbeRefused, engine.FeatureLookupGroup: engine.ProbeRefused,
		}, false},
		"404 for an empty lookup": {func(w http.ResponseWriter, r *http.Request) bool {
			return strings.Contains(r.URL.RawQuery, "nobody-") && refuse(w, 404)
		}, verdicts{}, true},
		"no groups": {func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasPrefix(r.URL.Path, "/Groups") && refuse(w, 404)
		}, verdicts{
			engine.FeatureCreateGroup: engine.ProbeRefused, engine.FeatureLookupGroup: engine.ProbeUnknown,
			engine.FeatureAddMember: engine.ProbeUnknown, engine.FeatureShowsMembers: engine.ProbeUnknown,
			engine.FeatureRemoveByPath: engine.ProbeUnknown, engine.FeatureRemoveByValue: engine.ProbeUnknown,
			engine.FeatureReplaceMembers: engine.ProbeUnknown, engine.FeatureReplaceWithEmpty: engine.ProbeUnknown,
			engine.FeatureRenameGroup: engine.ProbeUnknown, engine.FeaturePutGroup: engine.ProbeUnknown,
			engine.FeatureDeleteGroup: engine.ProbeUnknown,
		}, true},
		"no DELETE": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodDelete && refuse(w, 403)
		}, verdicts{
			engine.FeatureDeleteUser: engine.ProbeRefused, engine.FeatureDeleteGroup: engine.ProbeRefused,
		}, true},
		"creates nothing": {func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPost && user(r) && refuse(w, 400)
		}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			fake := target()
			got, err := tried(t, before(fake, c.answer), engine.ProbeOptions{})
			require.NoError(t, err)
			if c.want != nil {
				require.Empty(t, cmp.Diff(c.want, differing(got)), "%+v", got.Results)
			}
			usable, _ := got.Usable()
			require.Equal(t, c.usable, usable)
			if name == "no DELETE" {
				require.Len(t, got.Leftovers, 2)
				active, _ := fake.Users()[0].Bool("active")
				require.False(t, active, "an object that cannot be removed is disabled")
				return
			}
			require.Empty(t, fake.Users())
			require.Empty(t, fake.Groups())
		})
	}
}

// TestProbe_DetectsIgnoredFilter checks that the probe detects an ignored filter if the target has another user, and does not modify that
// user.
func TestProbe_DetectsIgnoredFilter(t *testing.T) {
	fake := target()
	body := func() *strings.Reader {
		return strings.NewReader(`{"schemas":["` + scim.UserSchema + `"],"userName":"ada"}`)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/Users", body())
	r.Header.Set("Authorization", "Bearer t0ken")
	fake.ServeHTTP(w, r)
	require.Equal(t, 201, w.Code)
	got, err := tried(t, before(fake, func(_ http.ResponseWriter, r *http.Request) bool {
		r.URL.RawQuery = ""
		return false
	}), engine.ProbeOptions{})
	require.NoError(t, err)
	require.Equal(t, map[engine.Feature]engine.ProbeVerdict{
		engine.FeatureLookupMiss: engine.ProbeNoEffect, engine.FeatureLookupUserName: engine.ProbeNoEffect,
		engine.FeatureLookupExternalID: engine.ProbeNoEffect,
	}, differing(got))
	require.Len(t, fake.Users(), 1, "the other user is not modified")
	require.Equal(t, "ada", fake.Users()[0].Text("userName"))
}

// TestProbe_WaitsForVisibleChange checks that the probe reads again if the target still returns the previous version after a write.
func TestProbe_WaitsForVisibleChange(t *testing.T) {
	fake := target()
	var stale atomic.Int32
	var last atomic.Pointer[[]byte]
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			stale.Store(2)
			fake.ServeHTTP(w, r)
			return
		}
		if have := last.Load(); have != nil && r.URL.RawQuery == "" && stale.Add(-1) >= 0 {
			w.Header().Set("Content-Type", scim.MediaType)
			_, _ = w.Write(*have)
			return
		}
		rec := httptest.NewRecorder()
		fake.ServeHTTP(rec, r)
		if data := rec.Body.Bytes(); r.URL.RawQuery == "" && strings.HasPrefix(r.URL.Path, "/Users/") && rec.Code == 200 {
			last.Store(&data)
		}
		w.Header().Set("Content-Type", scim.MediaType)
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
	got, err := tried(t, h, engine.ProbeOptions{SkipGroups: true})
	require.NoError(t, err)
	for _, f := range []engine.Feature{engine.FeaturePutUser, engine.FeaturePatchPath, engine.FeaturePatchNoPath,
		engine.FeatureDeactivatePatch} {
		require.Equal(t, engine.ProbeWorks, got.Verdict(f), f)
	}
}

// TestProbe_StopsEarly checks that a probe that cannot finish removes the resources it created.
func TestProbe_StopsEarly(t *testing.T) {
	t.Run("rejected credentials", func(t *testing.T) {
		fake := target()
		fake.Token = "another"
		got, err := tried(t, fake, engine.ProbeOptions{})
		require.ErrorContains(t, err, "does not accept the credentials")
		require.NotContains(t, err.Error(), "t0ken")
		require.Equal(t, 1, got.Requests)
	})
	t.Run("a target that becomes unavailable", func(t *testing.T) {
		fake := target()
		fake.Inject(enginetest.Fault{Method: "PUT", Drop: true})
		got, err := tried(t, fake, engine.ProbeOptions{})
		require.ErrorContains(t, err, "closed the connection")
		require.Equal(t, engine.ProbeWorks, got.Verdict(engine.FeatureCreateUser))
		require.Equal(t, engine.ProbeUnknown, got.Verdict(engine.FeatureDeactivatePatch))
		require.Empty(t, fake.Users(), "the created objects are removed")
	})
	t.Run("a canceled context", func(t *testing.T) {
		fake := target()
		server := httptest.NewServer(fake)
		defer server.Close()
		client, err := connect.New(
			connect.Config{BaseURL: server.URL, Network: &connect.Network{Transport: server.Client().Transport}, Auth: engine.Auth{Secret: "t0ken"}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		server.Config.Handler = before(fake, func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				cancel()
			}
			return false
		})
		_, err = probe.Run(ctx, client, engine.ProbeOptions{Settle: time.Nanosecond})
		require.Error(t, err)
		require.Empty(t, fake.Users(), "the created objects are removed")
	})
	t.Run("a lost response to the create", func(t *testing.T) {
		fake := target()
		fake.Inject(enginetest.Fault{Method: "POST", Truncate: true})
		got, err := tried(t, fake, engine.ProbeOptions{})
		require.NoError(t, err)
		require.Equal(t, engine.ProbeRefused, got.Verdict(engine.FeatureCreateUser))
		require.Empty(t, fake.Users())
	})
}
