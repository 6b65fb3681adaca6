package conformance

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSymptom_NamesSentForm checks that the fix of a rejected request names the media type and the op that the client sends.
func TestSymptom_NamesSentForm(t *testing.T) {
	rejected := &Response{Status: http.StatusBadRequest, Body: []byte(`{"detail":"unknown op"}`)}
	s := symptom{res: rejected, step: Step{
		Method: http.MethodPatch, Header: http.Header{"Content-Type": {"application/json"}},
		Body: Doc{"Operations": []Doc{{"op": "Add", "path": "members"}}},
	}}
	require.Contains(t, s.sentForm("Add the members."), "Content-Type application/json")
	require.Contains(t, s.sentForm("Add the members."), `op "Add"`)
	require.Empty(t, s.sentForm("Accept application/json. Compare op case-insensitively."))
	rejected.Body = nil
	require.NotContains(t, s.sentForm("Add the members."), "op", "the response does not name the op")
	rejected.Status = http.StatusNotFound
	require.Empty(t, s.sentForm("Add the members."))
}
