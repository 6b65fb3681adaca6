package sandbox_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/scim"
)

// wizardApp creates a custom integration with all options.
func wizardApp(t *testing.T, api *sandbox.APIClient, base string) string {
	t.Helper()
	var app struct{ ID string }
	do(t, api, http.MethodPost, "/api/v1/apps",
		`{"label":"Wizard","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://a.example"}}}`, &app)
	do(t, api, http.MethodPost, "/api/v1/apps/"+app.ID+"/connections/default?activate=true",
		fmt.Sprintf(`{"baseUrl":%q,"profile":{"token":%q}}`, base, scimToken), nil)
	do(t, api, http.MethodPut, "/api/v1/apps/"+app.ID+"/features/USER_PROVISIONING",
		`{"create":{"lifecycleCreate":{"status":"ENABLED"}},"update":{"profile":{"status":"ENABLED"},`+
			`"lifecycleDeactivate":{"status":"ENABLED"}}}`, nil)
	return app.ID
}

type task struct {
	UserID, Status, ErrorSummary string
	Attempts                     int
}

func tasksOf(t *testing.T, api *sandbox.APIClient, app string) (tasks []task) {
	t.Helper()
	do(t, api, http.MethodGet, "/sandbox/v1/apps/"+app+"/tasks", "", &tasks)
	return tasks
}

func drain(t *testing.T, api *sandbox.APIClient) {
	t.Helper()
	do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
}

// A target omits the changed attribute from responses to PUT. With each fallback, the engine sends GET and PUT, never PATCH.
func TestFallback_WizardAppNeverPatched(t *testing.T) {
	t.Parallel()
	for _, fallback := range []string{"", "NONE", "LEARN"} {
		t.Run("fallback "+fallback, func(t *testing.T) {
			_, api := startSandbox(t, sandbox.Options{Empty: true})
			good := scimHandler(t)
			var mu sync.Mutex
			var recorded bytes.Buffer
			tg := newTarget(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				recorded.WriteString(r.Method + " " + r.URL.Path + "\n" + string(body) + "\n")
				mu.Unlock()
				r.Body = io.NopCloser(bytes.NewReader(body))
				answer := httptest.NewRecorder()
				good.ServeHTTP(answer, r)
				text := answer.Body.Bytes()
				if shown, err := scim.DecodeResource(text); r.Method == http.MethodPut && err == nil && answer.Code == http.StatusOK {
					name := shown.Complex("name")
					name.Delete("familyName")
					shown.Set("name", name)
					text = shown.AppendJSON(nil)
				}
				rw.Header().Set("Content-Type", scim.MediaType)
				rw.WriteHeader(answer.Code)
				_, _ = rw.Write(text)
			}))
			app := wizardApp(t, api, tg.URL)
			if fallback != "" {
				setFallback(t, api, app, fallback)
			}
			user := newUser(t, api, "ann@wizard.example")
			do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, user), nil)
			drain(t, api)
			for i := range 5 {
				do(t, api, http.MethodPost, "/api/v1/users/"+user, fmt.Sprintf(`{"profile":{"lastName":"Name%d"}}`, i), nil)
				drain(t, api)
				list, err := find(t.Context(), tg.URL, scimToken, "ann@wizard.example")
				require.NoError(t, err)
				require.Equal(t, fmt.Sprintf("Name%d", i), list.Resources[0].Name.FamilyName)
			}
			do(t, api, http.MethodPost, "/api/v1/users/"+user+"/lifecycle/deactivate", "", nil)
			drain(t, api)
			require.Empty(t, tasksOf(t, api, app))
			mu.Lock()
			defer mu.Unlock()
			require.NotContains(t, recorded.String(), "PATCH ")
			require.Equal(t, 6, strings.Count(recorded.String(), "PUT /Users/"))
		})
	}
}

// With the default fallback, a deactivation fails on a catalog server without PATCH. With LEARN the engine finds an alternative form and
// logs it.
func TestFallback_CatalogServerWithoutPatch(t *testing.T) {
	t.Parallel()
	server := newQuirky(t, "no-patch")
	_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
	app := newApp(t, api, server.url, scimToken)
	ann := newUser(t, api, "ann@chain.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, ann), nil)
	drain(t, api)
	active := func() bool {
		list, err := find(t.Context(), server.url, scimToken, "ann@chain.example")
		require.NoError(t, err)
		require.Len(t, list.Resources, 1)
		return list.Resources[0].Active
	}
	do(t, api, http.MethodPost, "/api/v1/users/"+ann+"/lifecycle/deactivate", "", nil)
	eventually(t, "the failure is listed", func() bool { return len(tasksOf(t, api, app)) == 1 })
	require.True(t, active())
	require.Contains(t, tasksOf(t, api, app)[0].ErrorSummary, "deactivate: 501")
	for _, a := range attempts(t, api, app, ann) {
		require.NotEqual(t, http.MethodPut, a.Method)
	}

	setFallback(t, api, app, "LEARN")
	_ = api.Do(t.Context(), http.MethodPost, "/sandbox/v1/apps/"+app+"/tasks/"+ann+"/retry", nil, nil)
	eventually(t, "the account is deactivated", func() bool { return !active() })
	drain(t, api)
	require.Empty(t, tasksOf(t, api, app))
	var events []struct {
		DebugContext struct{ DebugData map[string]any }
	}
	do(t, api, http.MethodGet,
		"/api/v1/logs?limit=1000&filter="+
			url.QueryEscape(`eventType eq "application.provision.user.deactivate" and debugContext.debugData.scimMethod eq "PUT"`), "", &events)
	require.Len(t, events, 1)
	require.Contains(t, events[0].DebugContext.DebugData["scimAlternative"], "PUT (PATCH without a path was rejected: 501")
}

// With the default fallback, the engine repeats a failed create only after a client has requested a retry of the task. It repeats a failed
// deactivation automatically.
func TestFallback_NoneRetriesOnlyDeactivations(t *testing.T) {
	t.Parallel()
	for _, wizard := range []bool{false, true} {
		t.Run(fmt.Sprintf("wizard %t", wizard), func(t *testing.T) {
			_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
			good := scimHandler(t)
			var failures atomic.Int64
			tg := newTarget(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet && failures.Add(-1) >= 0 {
					rw.WriteHeader(http.StatusInternalServerError)
					return
				}
				good.ServeHTTP(rw, r)
			}))
			app := ""
			if wizard {
				app = wizardApp(t, api, tg.URL)
			} else {
				app = newApp(t, api, tg.URL, scimToken)
			}
			ann := newUser(t, api, "ann@chain.example")
			failures.Store(1)
			do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, ann), nil)
			drain(t, api)
			tasks := tasksOf(t, api, app)
			require.Len(t, tasks, 1)
			require.Equal(t, 1, tasks[0].Attempts)
			require.EqualValues(t, 1, tg.posts.Load())
			var assigned appUser
			do(t, api, http.MethodGet, "/api/v1/apps/"+app+"/users/"+ann, "", &assigned)
			require.Equal(t, []string{"STAGED", "ERROR"}, []string{assigned.Status, assigned.SyncState})
			do(t, api, http.MethodPost, "/sandbox/v1/apps/"+app+"/tasks/"+ann+"/retry", "", nil)
			drain(t, api)
			require.Empty(t, tasksOf(t, api, app))

			failures.Store(1)
			do(t, api, http.MethodDelete, "/api/v1/apps/"+app+"/users/"+ann, "", nil)
			eventually(t, "one failure does not leave the account active", func() bool {
				list, err := find(t.Context(), tg.URL, scimToken, "ann@chain.example")
				return err == nil && len(list.Resources) == 1 && !list.Resources[0].Active
			})
		})
	}
}

// An inactive account is activated if Create Users is on, even if Deactivate Users is off.
func TestFlow_InactiveAccountWithoutDeactivateUsers(t *testing.T) {
	t.Parallel()
	for _, wizard := range []bool{false, true} {
		t.Run(fmt.Sprintf("wizard %t", wizard), func(t *testing.T) {
			_, api := startSandbox(t, sandbox.Options{Empty: true})
			base, token := newSCIMServer(t)
			app := ""
			if wizard {
				app = wizardApp(t, api, base)
			} else {
				app = newApp(t, api, base, token)
			}
			do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/connections/default?activate=true", fmt.Sprintf(`{"profile":{"token":%q}}`, token),
				nil)
			do(t, api, http.MethodPut, "/api/v1/apps/"+app+"/features/USER_PROVISIONING",
				`{"update":{"profile":{"status":"DISABLED"},"lifecycleDeactivate":{"status":"DISABLED"}}}`, nil)
			asleep := fmt.Sprintf(`{"schemas":[%q],"userName":"ann@chain.example","active":false}`, scim.UserSchema)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/Users", strings.NewReader(asleep))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", scim.MediaType)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, http.StatusCreated, res.StatusCode)

			ann := newUser(t, api, "ann@chain.example")
			do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, ann), nil)
			drain(t, api)
			list, err := find(t.Context(), base, token, "ann@chain.example")
			require.NoError(t, err)
			require.True(t, list.Resources[0].Active)
			var assigned appUser
			do(t, api, http.MethodGet, "/api/v1/apps/"+app+"/users/"+ann, "", &assigned)
			require.Equal(t, []string{"PROVISIONED", "SYNCHRONIZED", list.Resources[0].ID},
				[]string{assigned.Status, assigned.SyncState, assigned.ExternalID})
		})
	}
}

// The app shows the style and the fallback of its connection. Both can be set.
func TestEngineApp_StyleAndFallback(t *testing.T) {
	t.Parallel()
	_, api := startSandbox(t, sandbox.Options{Empty: true})
	good := scimHandler(t)
	tg := newTarget(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ServiceProviderConfig") {
			rw.Header().Set("Content-Type", scim.MediaType)
			_, _ = io.WriteString(rw, `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],"patch":{"supported":false}}`)
			return
		}
		good.ServeHTTP(rw, r)
	}))
	app := newApp(t, api, tg.URL, scimToken)
	shown := func() []string {
		var a struct{ Style, Fallback string }
		do(t, api, http.MethodGet, "/sandbox/v1/engine/apps/"+app, "", &a)
		return []string{a.Style, a.Fallback}
	}
	set := func(profile string) {
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/connections/default?activate=true", `{"profile":`+profile+`}`, nil)
	}
	require.Equal(t, []string{"catalog", "none"}, shown())
	set(`{"fallback":"LEARN","updateStyle":"WIZARD"}`)
	require.Equal(t, []string{"wizard", "learn"}, shown())
	set(`{"fallback":"NONE","updateStyle":"AUTO"}`)
	require.Equal(t, []string{"auto", "none"}, shown())

	ann := newUser(t, api, "ann@chain.example")
	do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, ann), nil)
	drain(t, api)
	require.Equal(t, []string{"wizard", "none"}, shown(), "the target declares no PATCH support")
	do(t, api, http.MethodPost, "/api/v1/users/"+ann+"/lifecycle/deactivate", "", nil)
	drain(t, api)
	sent := attempts(t, api, app, ann)
	require.Equal(t, http.MethodPut, sent[len(sent)-1].Method)
}

// The task names a base URL that does not belong to a SCIM server, and no user is created there.
func TestLookup_WrongBaseURL(t *testing.T) {
	t.Parallel()
	for _, fallback := range []string{"NONE", "LEARN"} {
		t.Run(fallback, func(t *testing.T) {
			_, api := startSandbox(t, sandbox.Options{Empty: true, RetryMax: testRetryMax})
			tg := newTarget(t, scimHandler(t))
			app := newApp(t, api, tg.URL, scimToken)
			setFallback(t, api, app, fallback)
			tg.set(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/html")
				rw.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(rw, "<html>nothing here</html>")
			}))
			ann := newUser(t, api, "ann@chain.example")
			do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", fmt.Sprintf(`{"id":%q}`, ann), nil)
			eventually(t, "the failure is listed", func() bool { return len(tasksOf(t, api, app)) == 1 })
			require.Contains(t, tasksOf(t, api, app)[0].ErrorSummary, "check the base URL")
			require.Zero(t, tg.posts.Load())
		})
	}
}
