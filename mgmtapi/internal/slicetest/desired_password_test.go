package slicetest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const syncOn = `{"create":{"lifecycleCreate":{"status":"ENABLED"}},"update":{"password":{"status":"ENABLED","seed":"SVC",` +
	`"change":"CHANGE"}}}`

// waiting reads the passwords on their way.
func waiting(t *testing.T, w *apptest.World) []docstore.Doc[model.SyncPassword] {
	t.Helper()
	page, err := w.Model.SyncPasswords.Query(t.Context(), w.Store.Reader(), docstore.Query[model.SyncPassword]{})
	require.NoError(t, err)
	return page.Docs
}

func setPassword(w *apptest.World, user, password string) {
	w.Post("/users/"+user, fmt.Sprintf(`{"credentials":{"password":{"value":%q}}}`, password)).OK()
}

// TestSyncPassword_EncryptedUntilAccepted checks that the service stores a password encrypted and deletes it after the target has accepted
// it.
func TestSyncPassword_EncryptedUntilAccepted(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app, ann := w.SCIMApp("HR"), w.User("ann")
		w.Connect(app, syncOn)
		w.Assign(app, ann)
		report(t, w, app, ann, desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Created})
		require.Empty(t, desiredUser(t, w, app, ann).Password)

		setPassword(w, ann, "Second-2026")
		got := desiredUser(t, w, app, ann)
		require.Equal(t, "Second-2026", got.Password)
		require.NotEmpty(t, got.PasswordVersion)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", got, got, got), "Second-2026")
		require.NotContains(t, fmt.Sprint(waiting(t, w)), "Second-2026")

		setPassword(w, ann, "Third-2026")
		sent := []desired.Step{{Method: http.MethodGet, Path: "/Users/r1", Status: 200},
			{Method: http.MethodPatch, Path: "/Users/r1", Status: 200}}
		report(t, w, app, ann,
			desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Updated, Steps: sent, PasswordVersion: got.PasswordVersion})
		require.Equal(t, "Third-2026", desiredUser(t, w, app, ann).Password, "the result is about the one before")
		report(t, w, app, ann,
			desired.Result{Outcome: desired.Failed, RemoteID: "r1", Error: "400: too weak", PasswordVersion: got.PasswordVersion})
		require.Len(t, waiting(t, w), 1, "it may be taken later")
		report(t, w, app, ann,
			desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Updated, Steps: sent,
				PasswordVersion: desiredUser(t, w, app, ann).PasswordVersion})
		require.Empty(t, waiting(t, w))
		require.Contains(t, logOf(w), entry{prefix + "user.push_password", ok, "", "PATCH /Users/r1 200"})
	})
}

// TestSyncPassword_DiscardedIfUnneeded checks that the service discards a waiting password when no target needs it or its lifetime ends.
func TestSyncPassword_DiscardedIfUnneeded(t *testing.T) {
	for name, end := range map[string]func(w *apptest.World, app, user string){
		"the option is turned off": func(w *apptest.World, app, _ string) {
			w.Put("/apps/"+app+"/features/USER_PROVISIONING", `{"update":{"password":{"status":"DISABLED"}}}`).OK()
		},
		"the connection is stopped": func(w *apptest.World, app, _ string) {
			w.Post("/apps/"+app+"/connections/default/lifecycle/deactivate", nil).OK(204)
		},
		"the connection leads to another host": func(w *apptest.World, app, _ string) {
			w.Post("/apps/"+app+"/connections/default", `{"baseUrl":"https://other.example","profile":{"token":"other"}}`).OK()
		},
		"the user is deactivated": func(w *apptest.World, _, user string) { w.Post("/users/"+user+"/lifecycle/deactivate", nil).OK() },
	} {
		t.Run(name, func(t *testing.T) {
			w := apptest.New(t)
			app, ann := w.SCIMApp("HR"), w.User("ann")
			w.Connect(app, syncOn)
			w.Assign(app, ann)
			setPassword(w, ann, "Second-2026")
			require.Len(t, waiting(t, w), 1)
			end(w, app, ann)
			require.Empty(t, waiting(t, w))
		})
	}
	w := apptest.New(t)
	app, ann := w.SCIMApp("HR"), w.User("ann")
	w.Connect(app, syncOn)
	w.Assign(app, ann)
	setPassword(w, ann, "Second-2026")
	w.Advance(model.SyncPasswordLife)
	require.Empty(t, desiredUser(t, w, app, ann).Password, "it has waited for too long")
	report(t, w, app, ann, desired.Result{Outcome: desired.Failed, Error: "503"})
	require.Empty(t, waiting(t, w))
}
