package sandbox_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine/control/client"
)

func TestUnprovisioned_CountedWithReason(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	server := newTarget(t, scimHandler(t))
	app := newApp(t, api, server.URL, scimToken)
	feature := func(create string) {
		do(t, api, http.MethodPut, "/api/v1/apps/"+app+"/features/USER_PROVISIONING", `{"create":{"lifecycleCreate":{"status":"`+create+`"}}}`,
			nil)
	}
	assign := func(login string) string {
		id := newUser(t, api, login)
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+id+`"}`, nil)
		return id
	}
	shows := func(want ...client.Unprovisioned) {
		t.Helper()
		do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
		var a client.App
		do(t, api, http.MethodGet, "/sandbox/v1/engine/apps/"+app, "", &a)
		require.ElementsMatch(t, want, a.Unprovisioned)
		for _, path := range []string{"/", "/apps/" + app} {
			page := consolePage(t, api, path)
			for _, u := range want {
				require.Contains(t, page, u.Reason)
				require.Contains(t, page, fmt.Sprintf("%d assigned", u.Users))
			}
			if len(want) == 0 {
				require.NotContains(t, page, "not provisioned")
			}
		}
	}
	shows()
	assign("ann@late.example")
	shows()
	feature("DISABLED")
	assign("bob@late.example")
	assign("cy@late.example")
	shows(client.Unprovisioned{Reason: "Create Users is off", Users: 2})
	feature("ENABLED")
	shows(client.Unprovisioned{Reason: "assigned while Create Users was off", Users: 2})
	dee := assign("dee@late.example")
	shows(client.Unprovisioned{Reason: "assigned while Create Users was off", Users: 2}) // only two users are left: dee now has an account
	do(t, api, http.MethodPost, "/api/v1/users/"+dee+"/lifecycle/suspend", "", nil)
	do(t, api, http.MethodPost, "/sandbox/v1/apps/"+app+"/provision", "", nil)
	shows()
	feature("DISABLED")
	assign("eve@late.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/connections/default/lifecycle/deactivate", "", nil)
	shows(client.Unprovisioned{Reason: "the connection is not active", Users: 1})
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/lifecycle/deactivate", "", nil)
	shows(client.Unprovisioned{Reason: "the application is inactive", Users: 1})
}

func TestConsole_DistinguishesRetryingFromWaiting(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	server := newTarget(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("filter") != "" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/scim+json")
		fmt.Fprint(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`)
	}))
	app := newApp(t, api, server.URL, scimToken)
	setFallback(t, api, app, "LEARN") // with the default fallback NONE, the engine would not retry
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+newUser(t, api, "ann@retry.example")+`"}`, nil)
	eventually(t, "the first attempt has failed", func() bool {
		var a client.App
		do(t, api, http.MethodGet, "/sandbox/v1/engine/apps/"+app, "", &a)
		return a.Lag.Retrying == 1
	})
	page := consolePage(t, api, "/apps/"+app)
	require.Contains(t, page, " retrying</span>")
	require.NotContains(t, page, " waiting</span>")
	require.Contains(t, consolePage(t, api, "/"), `<b class="warn">1</b>`)
}
