package sandbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// jobEvent is a log event of a job, with the members that tests need.
type jobEvent struct {
	EventType string
	Outcome   struct{ Result, Reason string }
	Target    []struct{ ID, Type, AlternateID, DisplayName string }

	DebugContext struct{ DebugData map[string]string }
}

// jobEvents returns the log events of jobs whose type has the prefix.
func jobEvents(t *testing.T, api *sandbox.APIClient, prefix string) (events []jobEvent) {
	t.Helper()
	do(t, api, http.MethodGet, "/api/v1/logs?limit=1000&filter="+url.QueryEscape(`transaction.type eq "JOB" and eventType sw "`+prefix+`"`),
		"", &events)
	return events
}

// rejecting is a target that responds to lookups with an empty list and rejects all other requests.
func rejecting(status int, detail string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/scim+json")
		if r.Method == http.MethodGet {
			fmt.Fprint(w,
				`{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"startIndex":1,"itemsPerPage":0,"Resources":[]}`)
			return
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"%d","detail":%q}`, status, detail)
	})
}

func TestSystemLog_ContainsTargetErrors(t *testing.T) {
	t.Parallel()
	bothStyles(t, func(t *testing.T, wizard bool) {
		for _, status := range []int{http.StatusConflict, http.StatusBadRequest} {
			_, api := startSandbox(t, sandbox.Options{Empty: true})
			app := connectedApp(t, api, appBody(wizard), newTarget(t, rejecting(status, "all seats are taken")).URL, scimToken)
			user := newUser(t, api, "ann@seats.example")
			do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+user+`"}`, nil)
			do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
			pushes := 0
			for _, e := range jobEvents(t, api, "application.provision.user.") {
				if e.EventType == "application.provision.user.push" {
					pushes++
					require.Equal(t, "FAILURE", e.Outcome.Result)
					require.Contains(t, e.Outcome.Reason, "all seats are taken")
				} else {
					require.Equal(t, "SUCCESS", e.Outcome.Result, e)
				}
			}
			require.Equal(t, 1, pushes)
		}
	})
}
