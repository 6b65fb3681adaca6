package factors_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// holder is a user in tests whose proofs depend on previous responses, so that a list of steps is not enough.
type holder struct {
	e       *apitest.Env
	user    string
	factors string // path
}

// withHolder creates the user.
func withHolder(t *testing.T, e *apitest.Env) *holder {
	t.Helper()
	id := e.Run(t, withPerson())["user"]
	return &holder{e: e, user: id, factors: users + "/" + id + "/factors"}
}

// ok sends a request to a path below the factors of the user, and requires a success.
func (h *holder) ok(t *testing.T, method, path, body string) *apitest.Answer {
	t.Helper()
	a := h.e.Do(t, method+" "+h.factors+path, body, nil)
	require.Less(t, a.Status, 300, "%s", a.Body)
	return a
}

// refused sends a request and requires the error code.
func (h *holder) refused(t *testing.T, method, path, body, code string) *apitest.Answer {
	t.Helper()
	a := h.e.Do(t, method+" "+h.factors+path, body, nil)
	require.Equal(t, code, a.Value("errorCode"), "%s", a.Body)
	return a
}

// events counts the log events of a type with a result that have the user as a target.
func (h *holder) events(t *testing.T, event, result string) int {
	t.Helper()
	a := h.e.Do(t,
		"GET /api/v1/logs?limit=1000&filter=eventType+eq+%22"+event+"%22+and+outcome.result+eq+%22"+result+"%22+and+target.id+eq+%22"+h.user+
			"%22", "", nil)
	list, _ := a.JSON.([]any)
	return len(list)
}

// status returns the status of a factor.
func (h *holder) status(t *testing.T, id string) string {
	t.Helper()
	return h.ok(t, "GET", "/"+id, "").Value("status")
}

// members returns a JSON object with string members.
func members(t *testing.T, values map[string]string) string {
	t.Helper()
	text, err := json.Marshal(values)
	require.NoError(t, err)
	return string(text)
}

// encodings are the Base64 encodings that clients use.
var encodings = []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding, base64.RawStdEncoding}
