package foreign_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reader reads a target over plain HTTP. It shares nothing with the engine, so that it cannot be wrong in the same way.
type reader struct {
	base, token string
	membersAt   string // where the members of a group are told, empty when the group tells them
}

type object = map[string]any

// do sends a request and returns the status, 0 when no answer came, and the answer, nil when it is no JSON.
func (r reader) do(t *testing.T, method, url string, body any) (int, any) {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	if body == nil {
		data = nil
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(data))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+r.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/scim+json")
	}
	client := http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	var answer any
	_ = json.NewDecoder(res.Body).Decode(&answer)
	return res.StatusCode, answer
}

// create makes a resource, and returns its id.
func (r reader) create(t *testing.T, endpoint string, body object) string {
	t.Helper()
	status, answer := r.do(t, http.MethodPost, r.base+endpoint, body)
	require.Equal(t, http.StatusCreated, status, "%v", answer)
	return answer.(object)["id"].(string)
}

func (r reader) remove(t *testing.T, endpoint, id string) {
	t.Helper()
	status, _ := r.do(t, http.MethodDelete, r.base+endpoint+"/"+id, nil)
	require.Contains(t, []int{http.StatusOK, http.StatusNoContent}, status)
}

// all pages through a collection until a page brings nothing new, whatever totalResults says.
func (r reader) all(t *testing.T, endpoint string) (out []object) {
	t.Helper()
	seen := map[any]bool{}
	for {
		status, answer := r.do(t, http.MethodGet, fmt.Sprintf("%s%s?startIndex=%d&count=100", r.base, endpoint, len(out)+1), nil)
		require.Equal(t, http.StatusOK, status)
		list, _ := answer.(object)["Resources"].([]any)
		before := len(out)
		for _, e := range list {
			if o, _ := e.(object); !seen[o["id"]] {
				seen[o["id"]] = true
				out = append(out, o)
			}
		}
		if len(out) == before {
			return out
		}
	}
}

// members are the ids of the members of a group, in the order in which the target tells them.
func (r reader) members(t *testing.T, group string) (out []string) {
	t.Helper()
	if r.membersAt != "" {
		_, answer := r.do(t, http.MethodGet, r.membersAt+group, nil)
		for _, id := range answer.([]any) {
			out = append(out, id.(string))
		}
		return out
	}
	status, answer := r.do(t, http.MethodGet, r.base+"/Groups/"+group, nil)
	require.Equal(t, http.StatusOK, status)
	list, _ := answer.(object)["members"].([]any)
	for _, m := range list {
		id, _ := m.(object)["value"].(string)
		out = append(out, id)
	}
	return out
}
