package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// newMapping pushes a new, empty group and returns the path of the mapping.
func newMapping(t *testing.T, api *sandbox.APIClient, app string) (mapping string) {
	t.Helper()
	var group, made struct {
		ID string `json:"id"`
	}
	do(t, api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"staff"}}`, &group)
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/group-push/mappings",
		fmt.Sprintf(`{"sourceGroupId":%q,"targetGroupName":"Staff"}`, group.ID), &made)
	return "/api/v1/apps/" + app + "/group-push/mappings/" + made.ID
}

// remove deletes a mapping together with the group on the target.
func remove(t *testing.T, api *sandbox.APIClient, mapping string) {
	t.Helper()
	do(t, api, http.MethodPatch, mapping, `{"status":"INACTIVE"}`, nil)
	do(t, api, http.MethodDelete, mapping+"?deleteTargetGroup=true", "", nil)
}

// watch counts the group deletions that reach the target.
type watch struct {
	http.Handler
	mu      sync.Mutex
	deleted int
	// If hold is not nil, a request that creates a group sends a value to entered and then waits for a value from hold.
	entered, hold chan struct{}
}

func (w *watch) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Groups") && w.hold != nil {
		w.entered <- struct{}{}
		<-w.hold
	}
	w.Handler.ServeHTTP(rw, r)
	if r.Method == http.MethodDelete {
		w.mu.Lock()
		w.deleted++
		w.mu.Unlock()
	}
}

func (w *watch) groupsDeleted() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deleted
}

// TestPushMapping_DeletedDuringPush checks that the engine deletes the group of a mapping that is deleted during its push.
func TestPushMapping_DeletedDuringPush(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	w := &watch{Handler: scimHandler(t), entered: make(chan struct{}, 1), hold: make(chan struct{})}
	tg := newTarget(t, w)
	app := newApp(t, api, tg.URL, scimToken)
	mapping := newMapping(t, api, app)
	<-w.entered
	remove(t, api, mapping)
	close(w.hold)
	eventually(t, "the group is deleted", func() bool { return w.groupsDeleted() == 1 })
}

// TestPushMapping_DeletedWithPushDisabled checks that the engine deletes the group once group push is enabled again.
func TestPushMapping_DeletedWithPushDisabled(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	w := &watch{Handler: scimHandler(t)}
	tg := newTarget(t, w)
	app := newApp(t, api, tg.URL, scimToken)
	mapping := newMapping(t, api, app)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	do(t, api, http.MethodPut, "/api/v1/apps/"+app+"/features/GROUP_PUSH", `{"push":{"status":"DISABLED"}}`, nil)
	remove(t, api, mapping)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	require.Zero(t, w.groupsDeleted(), "no request is sent while group push is disabled")
	do(t, api, http.MethodPut, "/api/v1/apps/"+app+"/features/GROUP_PUSH", `{"push":{"status":"ENABLED"}}`, nil)
	eventually(t, "the group is deleted", func() bool { return w.groupsDeleted() == 1 })
}

func TestDeletedApp_LeavesNoWork(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	base, token := newSCIMServer(t)
	app := newApp(t, api, base, token)
	user := newUser(t, api, "late@chain.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/lifecycle/deactivate", "", nil)
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
	do(t, api, http.MethodDelete, "/api/v1/apps/"+app, "", nil)
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
}
