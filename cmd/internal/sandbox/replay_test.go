package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/fixtures"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scimserver"
)

// The recorded flows of provisioning clients succeed against the reference server, and the state is checked after every step.
func TestReplay_RecordedFlowsSucceed(t *testing.T) {
	all, err := fixtures.Conversations()
	require.NoError(t, err)
	for name, conversation := range all {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				server := httptest.NewServer(scimHandlerOn(t, db))
				t.Cleanup(server.Close)
				replay(t, server.URL, scimToken, conversation)
			})
		})
	}
}

// A strict server rejects or misinterprets exactly the steps in testdata/strict-refusals.txt. Each of these steps is repeated against a
// lenient server on the same data, so that the next step finds the expected state.
func TestReplay_StrictRejectsListedSteps(t *testing.T) {
	sqldbtest.Each(t, checkStrictness)
}

func checkStrictness(t *testing.T, db *sqldb.DB) {
	all, err := fixtures.Conversations()
	require.NoError(t, err)
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		layout := scimstore.NewLayout(strings.ReplaceAll(name, "-", "_"))
		docs, err := docstore.Open(t.Context(), db, time.Now, layout.Tables()...)
		require.NoError(t, err)
		serving := func(refuse lenient.Set) string {
			h, err := scimserver.New(scimserver.Options{
				Store: scimstore.New(docs, layout), Tokens: scimserver.StaticTokens(scimToken), PasswordCost: 4, Refuse: refuse,
			})
			require.NoError(t, err)
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			return server.URL
		}
		strict := replayer{base: serving(scimserver.Strict), token: scimToken, saved: map[string]string{}}
		kind := replayer{base: serving(0), token: scimToken, saved: strict.saved}
		for i, step := range all[name].Steps {
			where := fmt.Sprintf("%s, step %d: %s", name, i+1, step.Title)
			status, body := strict.send(t, where, step)
			switch difference := strict.difference(t, where, step, status, body); {
			case difference == "":
				continue
			case slices.Contains(step.Status, status):
				fmt.Fprintf(&list, "%s\n    %d, but it means something else\n", where, status)
			default:
				var refusal struct{ ScimType, Detail string }
				require.NoError(t, json.Unmarshal(body, &refusal), where)
				fmt.Fprintf(&list, "%s\n    %d %s: %s\n", where, status, refusal.ScimType, refusal.Detail)
			}
			status, body = kind.send(t, where, step)
			require.Empty(t, kind.difference(t, where, step, status, body), where)
		}
	}
	golden := filepath.Join("testdata", "strict-refusals.txt")
	goldentest.Check(t, golden, list.String())
}

func replay(t *testing.T, base, token string, c fixtures.Conversation) {
	r := replayer{base: base, token: token, saved: map[string]string{}}
	for i, step := range c.Steps {
		where := fmt.Sprintf("step %d: %s", i+1, step.Title)
		status, body := r.send(t, where, step)
		require.Empty(t, r.difference(t, where, step, status, body), where)
	}
}

// replayer sends the steps of a client flow to a server.
type replayer struct {
	base, token string
	saved       map[string]string
}

func (r replayer) fill(s string) string {
	for name, value := range r.saved {
		s = strings.ReplaceAll(s, "${"+name+"}", value)
	}
	return s
}

func (r replayer) send(t *testing.T, where string, step fixtures.Step) (status int, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), step.Method, r.base+r.fill(step.Path), strings.NewReader(r.fill(string(step.Body))))
	require.NoError(t, err, where)
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Accept", "application/scim+json")
	if len(step.Body) > 0 {
		req.Header.Set("Content-Type", "application/scim+json; charset=utf-8")
	}
	for name, value := range step.Headers {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err, where)
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	require.NoError(t, err, where)
	return res.StatusCode, body
}

// difference describes how the response to a step, or the state after it, differs from the expected one; "" if it does not.
func (r replayer) difference(t *testing.T, where string, step fixtures.Step, status int, body []byte) string {
	t.Helper()
	if !slices.Contains(step.Status, status) {
		return fmt.Sprintf("status %d, want one of %v: %s", status, step.Status, body)
	}
	got, text := r.holds(t, where, body, step.Contains, step.Absent)
	if text != "" {
		return text
	}
	for name, member := range step.Save {
		text, ok := got[member].(string)
		if !ok {
			return fmt.Sprintf("%s is missing in %s", member, body)
		}
		r.saved[name] = text
	}
	for _, check := range step.State {
		status, body := r.send(t, where, fixtures.Step{Method: http.MethodGet, Path: check.Path})
		if status != http.StatusOK {
			return fmt.Sprintf("state of %s: %s", check.Path, body)
		}
		if _, text := r.holds(t, where, body, check.Contains, check.Absent); text != "" {
			return fmt.Sprintf("state of %s: %s", check.Path, text)
		}
	}
	return ""
}

// holds parses the body of a response. difference describes the first member that is missing or must be absent; it is "" if there is none.
func (r replayer) holds(t *testing.T, where string, body []byte, contains json.RawMessage, absent []string) (got map[string]any,
	difference string) {
	t.Helper()
	if len(body) == 0 {
		return nil, ""
	}
	require.NoError(t, json.Unmarshal(body, &got), "%s: %s", where, body)
	if len(contains) > 0 {
		var want any
		require.NoError(t, json.Unmarshal([]byte(r.fill(string(contains))), &want), where)
		if text := missing(want, got, ""); text != "" {
			return got, fmt.Sprintf("%s\nresponse: %s", text, body)
		}
	}
	for _, name := range absent {
		if _, there := got[name]; there {
			return got, fmt.Sprintf("%s is in %s", name, body)
		}
	}
	return got, ""
}

// missing describes the first value of want that got does not contain. Objects are compared member by member, arrays element by element and
// with equal length, scalars by equality.
func missing(want, got any, at string) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %T, want an object", at, got)
		}
		for name, value := range want {
			if text := missing(value, object[name], at+"."+name); text != "" {
				return text
			}
		}
		return ""
	case []any:
		array, ok := got.([]any)
		if !ok || len(array) != len(want) {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
		for i := range want {
			if text := missing(want[i], array[i], fmt.Sprintf("%s[%d]", at, i)); text != "" {
				return text
			}
		}
		return ""
	default:
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
		return ""
	}
}
