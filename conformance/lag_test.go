package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// late is a target that shows created objects after a delay.
type late struct {
	*shelf
	delay  time.Duration
	posted map[string]time.Time
}

func (l *late) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if at, ok := l.posted[r.URL.Path]; ok && r.Method == http.MethodGet && time.Since(at) < l.delay {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	recorder := httptest.NewRecorder()
	l.shelf.ServeHTTP(recorder, r)
	if r.Method == http.MethodPost {
		var body map[string]any
		_ = json.Unmarshal(recorder.Body.Bytes(), &body)
		l.posted[r.URL.Path+"/"+fmt.Sprint(body["id"])] = time.Now()
	}
	w.Header().Set("Content-Type", recorder.Header().Get("Content-Type"))
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

// TestSettle_ToleratesBoundedLag checks that the run tolerates a lag of the target up to Settle, and reports it.
func TestSettle_ToleratesBoundedLag(t *testing.T) {
	read := []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
		t.Expect("status", 200, t.Get(ctx, t.CreateUser(ctx, "ann", nil).Path()).Status)
	})}
	for name, tt := range map[string]struct {
		delay, settle time.Duration
		outcome       conformance.Outcome
		lag           time.Duration
	}{
		"immediate":                          {0, 5 * time.Second, conformance.Pass, 0},
		"after a short delay":                {700 * time.Millisecond, 5 * time.Second, conformance.Pass, 750 * time.Millisecond},
		"after a short delay without Settle": {700 * time.Millisecond, 0, conformance.Pass, 700 * time.Millisecond},
		"too late without Settle":            {3 * time.Second, 0, conformance.Fail, 0},
		"too late":                           {time.Minute, 5 * time.Second, conformance.Fail, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &late{shelf: &shelf{objects: map[string]map[string]any{}}, delay: tt.delay, posted: map[string]time.Time{}}
				target := conformance.Target{URL: "http://127.0.0.1", Transport: direct(s)}
				r, err := conformance.Run(t.Context(), target, conformance.Options{Settle: tt.settle, Checks: read})
				require.NoError(t, err)
				require.Equal(t, tt.outcome, r.Checks[0].Outcome)
				require.Equal(t, tt.lag, r.Lag)
				require.Equal(t, tt.lag > 0, strings.Contains(strings.Join(r.Cautions, " "), "eventually consistent"), r.Cautions)
				require.Empty(t, s.names(), "no leftovers")
			})
		})
	}
}
