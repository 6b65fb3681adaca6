package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/fixtures"
)

// Recorded conversations of provisioning clients run against the reference server as they were sent, and the
// state is checked after every step.
func TestRecordedConversationsWorkAgainstTheReferenceServer(t *testing.T) {
	all, err := fixtures.Conversations()
	require.NoError(t, err)
	for name, conversation := range all {
		t.Run(name, func(t *testing.T) {
			base, token := newSCIMServer(t)
			replay(t, base, token, conversation)
		})
	}
}

func replay(t *testing.T, base, token string, c fixtures.Conversation) {
	saved := map[string]string{}
	fill := func(s string) string {
		for name, value := range saved {
			s = strings.ReplaceAll(s, "${"+name+"}", value)
		}
		return s
	}
	for i, step := range c.Steps {
		where := fmt.Sprintf("step %d: %s", i+1, step.Title)
		req, err := http.NewRequestWithContext(t.Context(), step.Method, base+fill(step.Path), strings.NewReader(fill(string(step.Body))))
		require.NoError(t, err, where)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Accept", "application/scim+json")
		if len(step.Body) > 0 {
			req.Header.Set("Content-Type", "application/scim+json; charset=utf-8")
		}
		for name, value := range step.Headers {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err, where)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		require.NoError(t, err, where)
		require.True(t, slices.Contains(step.Status, res.StatusCode), "%s: status %d, want one of %v: %s", where, res.StatusCode, step.Status, body)

		var got map[string]any
		if len(body) > 0 {
			require.NoError(t, json.Unmarshal(body, &got), "%s: %s", where, body)
		}
		if len(step.Contains) > 0 {
			var want any
			require.NoError(t, json.NewDecoder(bytes.NewBufferString(fill(string(step.Contains)))).Decode(&want), where)
			if missing := missing(want, got, ""); missing != "" {
				t.Fatalf("%s: %s\nanswer: %s", where, missing, body)
			}
		}
		for _, name := range step.Absent {
			require.NotContains(t, got, name, where)
		}
		for name, member := range step.Save {
			text, ok := got[member].(string)
			require.True(t, ok, "%s: %s in %s", where, member, body)
			saved[name] = text
		}
	}
}

// missing says what of want is not in got: objects member by member, arrays element by element and of equal
// length, scalars by equality.
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
