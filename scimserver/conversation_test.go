package scimserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/fixtures"
	"github.com/scimwright/scimwright/scim"
)

// TestRecordedConversations replays recorded requests of provisioning clients, and checks each response.
func TestRecordedConversations(t *testing.T) {
	conversations, err := fixtures.Conversations()
	require.NoError(t, err)
	require.NotEmpty(t, conversations)
	for name, conversation := range conversations {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, h *harness) {
				saved := []string{}
				for _, step := range conversation.Steps {
					fill := strings.NewReplacer(saved...)
					var body any
					if step.Body != nil {
						body = fill.Replace(string(step.Body))
					}
					a := h.do(t, step.Method, fill.Replace(step.Path), body, func(r *http.Request) {
						for name, value := range step.Headers {
							r.Header.Set(name, value)
						}
					})
					require.Contains(t, step.Status, a.status, "%s\n%s\n%s", step.Title, a.call, a.text)
					if step.Contains != nil && a.body != nil {
						requireContains(t, fill.Replace(string(step.Contains)), a, step.Title)
					}
					for _, absent := range step.Absent {
						_, there := a.body.Get(absent)
						require.False(t, there, "%s: %s in %s", step.Title, absent, a.text)
					}
					for variable, member := range step.Save {
						saved = append(saved, "${"+variable+"}", a.body.Text(member))
					}
					fill = strings.NewReplacer(saved...)
					for _, check := range step.State {
						a := h.get(t, fill.Replace(check.Path))
						requireContains(t, fill.Replace(string(check.Contains)), a, step.Title)
						for _, absent := range check.Absent {
							require.Equal(t, "null", a.json(absent), "%s: %s in %s", step.Title, absent, a.text)
						}
					}
				}
			})
		})
	}
}

func requireContains(t *testing.T, want string, a *response, title string) {
	t.Helper()
	var w, g any
	require.NoError(t, json.Unmarshal([]byte(want), &w), want)
	require.NoError(t, json.Unmarshal([]byte(a.text), &g))
	require.True(t, contains(w, g), "%s\n%s\nwant %s\ngot  %s", title, a.call, want, a.text)
}

// contains reports whether got contains everything in want.
func contains(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for name, v := range want {
			ok = ok && contains(v, g[name])
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(want)
		for i, v := range want {
			ok = ok && contains(v, g[i])
		}
		return ok
	}
	return want == got
}

// TestRFCSamplesRoundTrip stores the example resources of RFC 7643 and compares the attributes that a client may write.
func TestRFCSamplesRoundTrip(t *testing.T) {
	samples, err := fixtures.RFCSamples()
	require.NoError(t, err)
	for name, sample := range samples {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, h *harness) {
				want, err := scim.Decode(sample)
				require.NoError(t, err)
				endpoint := "/Users"
				if strings.Contains(name, "group") {
					endpoint = "/Groups"
					want.Delete("members") // the members do not exist on this server, so they would be rejected
				}
				body := string(want.AppendJSON(nil))
				a := h.do(t, http.MethodPost, endpoint, body).want(t, http.StatusCreated)
				managed := want.Complex(scim.EnterpriseUserSchema).Complex("manager")
				managed.Delete("displayName")
				require.JSONEq(t, string(without(want, "id", "meta", "groups", "password").AppendJSON(nil)),
					string(without(a.body, "id", "meta").AppendJSON(nil)))
			})
		})
	}
}
