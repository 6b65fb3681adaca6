package sandbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// jobs returns the types of the log events of background work, oldest first.
func jobs(t *testing.T, api *sandbox.APIClient) []string {
	t.Helper()
	var events []struct {
		EventType   string
		Transaction struct{ Type string }
		Target      []struct{ Type string }
	}
	do(t, api, http.MethodGet, "/api/v1/logs?limit=1000&filter="+url.QueryEscape(`transaction.type eq "JOB" and target.type eq "AppUser"`), "",
		&events)
	var types []string
	for _, e := range events {
		types = append(types, e.EventType)
	}
	return types
}

func TestSystemLog_RecordsAssignment(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	base, token := newSCIMServer(t)
	app := newApp(t, api, base, token)
	user := newUser(t, api, "log@chain.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	want := []string{
		"application.provision.user.verify_exists", "application.provision.user.push",
		"app.user_management.push_new_user_success", "application.user_membership.provision",
	}
	eventually(t, "the creation is logged", func() bool { return slices.Equal(want, jobs(t, api)) })

	do(t, api, http.MethodPost, "/api/v1/users/"+user+"/lifecycle/deactivate", "", nil)
	end := []string{"application.provision.user.deprovision", "application.user_membership.deprovision"}
	eventually(t, "the deactivation is logged", func() bool {
		have := jobs(t, api)
		return len(have) >= len(end) && slices.Equal(end, have[len(have)-len(end):])
	})
	require.Contains(t, jobs(t, api), "application.provision.user.deactivate")
}
