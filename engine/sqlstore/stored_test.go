package sqlstore_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/storedtest"
)

// calls are the places of this package that encode JSON for a column, by file and argument. The values are the names of the forms in
// testdata/stored.
var calls = map[string]string{
	"attempts.go h": "sync_attempt headers", "events.go e.Data": "event data", "imports.go r": "import_run request",
	"imports.go o.Candidates": "import_object candidates", "imports.go counts": "import_run counts", "lanes.go learned": "app_lane learned",
	"plans.go p": "plan doc", "plans.go i": "plan_item doc", "profile.go c": "app_lane profile", "rest.go r": "app_lane rest",
	"finish.go f.Pending": "sync_state pending", "finish.go f.IgnoredAttributes": "sync_state unkept",
	"finish.go f.WaitingOn": "sync_state waiting", "inflight.go inFlight": "in_flight principals",
}

// TestStoredForms checks that testdata/stored has a form for each JSON column, and that this version decodes all forms.
func TestStoredForms(t *testing.T) {
	codecs := map[string]storedtest.Codec{
		"sync_attempt headers": storedtest.Of[http.Header](), "event data": storedtest.Of[engine.EventData](),
		"import_run request": storedtest.Of[engine.ImportRequest](), "import_object candidates": storedtest.Of[[]engine.Candidate](),
		"import_run counts": storedtest.Of[map[engine.Verdict]int](), "app_lane learned": storedtest.Of[engine.Learned](),
		"plan doc": storedtest.Of[engine.Plan](), "plan_item doc": storedtest.Of[engine.PlanItem](),
		"app_lane profile": storedtest.Of[engine.Profile](), "app_lane rest": storedtest.Of[engine.Suspension](),
		"sync_state pending": storedtest.Of[engine.Pending](), "sync_state unkept": storedtest.Of[map[string]engine.IgnoredAttribute](),
		"sync_state waiting": storedtest.Of[[]string](), "in_flight principals": storedtest.Of[[]engine.Principal](),
	}
	require.ElementsMatch(t, slices.Collect(maps.Values(calls)), slices.Collect(maps.Keys(codecs)))
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	writes, found := regexp.MustCompile(`\b(?:encodeJSON|json\.Marshal)\(([^()]+)\)`), map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range writes.FindAllStringSubmatch(string(text), -1) {
			found[file+" "+m[1]] = true
		}
	}
	delete(found, "lanes.go v any")
	delete(found, "lanes.go v") // encodeJSON itself
	require.ElementsMatch(t, slices.Collect(maps.Keys(calls)), slices.Collect(maps.Keys(found)))
	storedtest.Check(t, codecs)
}
