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

// reader reads a target over HTTP. It shares no code with the engine, so it cannot have the same errors.
type reader struct {
	base, token string
	membersAt   string // URL prefix for the members of a group, empty to read the group itself
}

type object = map[string]any

// do sends a request and returns the status, 0 without a response, and the body, nil if it is not JSON.
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

// create creates a resource and returns its id.
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

// all reads a collection until a page contains no new resource. It ignores totalResults.
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

// members returns the ids of the members of a group in the order of the response.
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
