package conformance

import (
	"net/http"
	"strings"
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
	for message, blamed := range map[string]bool{
		`{"detail":"unsupported operation: Add"}`: true, `{"detail":"op must be one of add, remove, replace"}`: true,
		`{"detail":"does not match any values for 'add' op of operation 1"}`: false, `{"detail":"no values for a remove operation"}`: false,
		"": false,
	} {
		rejected.Body = []byte(message)
		require.Equal(t, blamed, strings.Contains(s.sentForm("Add the members."), `op "Add"`), message)
	}
	rejected.Status = http.StatusNotFound
	require.Empty(t, s.sentForm("Add the members."))
}

// TestSettleEffects_NamesOp checks that the fix of steps whose PATCH requests change nothing names an op that is not in lower case, because
// the target may ignore only this spelling.
func TestSettleEffects_NamesOp(t *testing.T) {
	fix := func(op string) string {
		step := Step{Method: http.MethodPatch, Path: "/Groups/${group}", Body: Doc{"Operations": []Doc{{"op": op}}}}
		s := &clientSession{outline: ClientFlow{Steps: []Step{step, step}}}
		s.writes = map[string]*effects{"PATCH of groups": {without: []int{0, 1}}}
		results := make([]CheckResult, 2)
		s.settleEffects(results)
		return results[1].Check.Fix
	}
	require.Contains(t, fix("Replace"), `Apply PATCH of groups: the target returns a success status, and the resource remains unchanged. `+
		`The client sends the op "Replace"`)
	require.NotContains(t, fix("replace"), "The client sends the op")
}
