package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// walk tests a sandbox from the management API through the engine to a target. Each step changes something in the management API. The walk
// records the requests to the target, the resulting state of the assignments and the events in the system log.
type walk struct {
	t    *testing.T
	api  *sandbox.APIClient
	app  string
	base string // of the target
	// unordered sorts the log events of a step, because accounts are imported in the order of their random ids.
	unordered bool
	users     map[string]string // by name
	out       strings.Builder
	notes     strings.Builder // further output of the step

	mu       sync.Mutex
	sent     []string
	accounts []string // ids that the target generated, in order
	logged   int      // number of events printed so far
}

// newWalk connects an app of this style to a reference server with these options.
func newWalk(t *testing.T, wizard bool, options string) *walk {
	return newWalkOn(t, wizard, options, sandbox.Options{})
}

// newWalkOn does the same as newWalk, with options for the sandbox.
func newWalkOn(t *testing.T, wizard bool, options string, o sandbox.Options) *walk {
	w := &walk{t: t, users: map[string]string{}}
	o.Empty = true
	_, w.api = startSandbox(t, o)
	handler := scimHandler(t)
	tg := newTarget(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		seen := &answered{ResponseWriter: rw}
		handler.ServeHTTP(seen, r)
		w.record(r, body, seen)
	}))
	var made struct{ ID string }
	do(t, w.api, http.MethodPost, "/api/v1/apps", appBody(wizard), &made)
	w.app, w.base = made.ID, tg.URL
	do(t, w.api, http.MethodPost, w.path("/connections/default?activate=true"),
		fmt.Sprintf(`{"baseUrl":%q,"profile":{"token":%q}}`, tg.URL, scimToken), nil)
	if options != "" {
		do(t, w.api, http.MethodPut, w.path("/features/USER_PROVISIONING"), options, nil)
	}
	w.mu.Lock()
	w.sent = nil // the connection test
	w.mu.Unlock()
	return w
}

// appBody returns the body that creates an app of this style.
func appBody(wizard bool) string {
	if !wizard {
		return `{"name":"scim2_test_app","label":"Walk","settings":{"app":{}}}`
	}
	return `{"label":"Walk","signOnMode":"SAML_2_0","settings":{
		"signOn":{"ssoAcsUrl":"https://walk.example/acs","audience":"https://walk.example",
		"recipient":"https://walk.example/acs","destination":"https://walk.example/acs","subjectNameIdTemplate":"${user.userName}",
		"subjectNameIdFormat":"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
		"signatureAlgorithm":"RSA_SHA256","digestAlgorithm":"SHA256",
		"authnContextClassRef":"urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"}}}`
}

func (w *walk) path(rest string) string { return "/api/v1/apps/" + w.app + rest }

// answered records the response of a handler.
type answered struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (a *answered) WriteHeader(status int) { a.status = status; a.ResponseWriter.WriteHeader(status) }

func (a *answered) Write(p []byte) (int, error) { a.body.Write(p); return a.ResponseWriter.Write(p) }

// record records a request with indented body and the status of the response.
func (w *walk) record(r *http.Request, body []byte, a *answered) {
	query, err := url.QueryUnescape(r.URL.RequestURI())
	if err != nil {
		query = r.URL.RequestURI()
	}
	text := "> " + r.Method + " " + query + "\n"
	if len(body) > 0 {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, body, "  ", "  "); err != nil {
			w.t.Error(err)
		}
		text += "  " + pretty.String() + "\n"
	}
	text += fmt.Sprintf("< %d\n", max(a.status, http.StatusOK))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, text)
	var created struct{ ID string }
	if r.Method == http.MethodPost && a.status == http.StatusCreated && json.Unmarshal(a.body.Bytes(), &created) == nil {
		w.accounts = append(w.accounts, created.ID)
	}
}

// user creates a user with a password.
func (w *walk) user(name string) string {
	w.t.Helper()
	var u struct{ ID string }
	do(w.t, w.api, http.MethodPost, "/api/v1/users", fmt.Sprintf(
		`{"profile":{"login":"%[1]s@walk.example","email":"%[1]s@walk.example","firstName":"%[1]s","lastName":"Walker"},`+
			`"credentials":{"password":{"value":"Tlpwd-2026"}}}`, name), &u)
	w.users[name] = u.ID
	return u.ID
}

// step runs a step and records its effects.
func (w *walk) step(what string, run func()) {
	w.t.Helper()
	run()
	do(w.t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
	fmt.Fprintf(&w.out, "## %s\n\n", what)
	defer w.notes.Reset()
	w.mu.Lock()
	sent := w.sent
	w.sent = nil
	w.mu.Unlock()
	for _, text := range sent {
		w.out.WriteString(text)
	}
	if len(sent) == 0 {
		w.out.WriteString("no request\n")
	}
	w.out.WriteByte('\n')
	w.out.WriteString(w.notes.String())
	for _, name := range slices.Sorted(maps.Keys(w.users)) {
		var a appUser
		if err := w.api.Do(w.t.Context(), http.MethodGet, w.path("/users/"+w.users[name]), nil, &a); err != nil {
			fmt.Fprintf(&w.out, "%s: not assigned\n", name)
			continue
		}
		fmt.Fprintf(&w.out, "%s: %s %s", name, a.Status, a.SyncState)
		if a.ExternalID != "" {
			fmt.Fprintf(&w.out, ", account %s", a.ExternalID)
		}
		w.out.WriteByte('\n')
	}
	var events []struct {
		EventType string
		Outcome   struct{ Result, Reason string }
	}
	do(w.t, w.api, http.MethodGet, "/api/v1/logs?limit=1000&filter="+url.QueryEscape(`transaction.type eq "JOB"`), "", &events)
	var lines []string
	for _, e := range events[w.logged:] {
		if e.Outcome.Result == "FAILURE" {
			w.t.Logf("%s: %s: %s", what, e.EventType, e.Outcome.Reason)
		}
		lines = append(lines, fmt.Sprintf("log: %s %s\n", e.EventType, e.Outcome.Result))
	}
	if w.unordered {
		slices.Sort(lines)
	}
	w.out.WriteString(strings.Join(lines, ""))
	w.logged = len(events)
	w.out.WriteByte('\n')
}

// The values that differ between runs: generated passwords, times, and the address of the target.
var (
	random  = regexp.MustCompile(`"password": "[A-Za-z0-9_-]{32}"`)
	instant = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"`)
	host    = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
)

// end compares the walk with its golden file.
func (w *walk) end() {
	w.t.Helper()
	pairs := []string{w.app, "{app}"}
	for name, id := range w.users {
		pairs = append(pairs, id, "{"+name+"}")
	}
	for i, id := range w.accounts {
		pairs = append(pairs, id, fmt.Sprintf("{account %d}", i+1))
	}
	text := strings.NewReplacer(pairs...).Replace(w.out.String())
	text = random.ReplaceAllString(text, `"password": "{random}"`)
	text = host.ReplaceAllString(instant.ReplaceAllString(text, `"{time}"`), "{target}")
	file := filepath.Join("testdata", "walks", strings.TrimPrefix(strings.ReplaceAll(original(w.t), "/", "-"), "TestWalk")+".txt")
	goldentest.Check(w.t, file, text)
}

// do returns a step that sends a request.
func (w *walk) do(method, path, body string) func() {
	return func() { w.t.Helper(); do(w.t, w.api, method, path, body, nil) }
}

// assign returns a step that assigns a user.
func (w *walk) assign(name string) func() {
	return w.do(http.MethodPost, w.path("/users"), fmt.Sprintf(`{"id":%q}`, w.users[name]))
}

const (
	createOn     = `"create":{"lifecycleCreate":{"status":"ENABLED"}}`
	updateOn     = `"profile":{"status":"ENABLED"}`
	deactivateOn = `"lifecycleDeactivate":{"status":"ENABLED"}`
)

// bothStyles runs a walk for a catalog app and for a custom one.
func bothStyles(t *testing.T, run func(t *testing.T, wizard bool)) {
	t.Run("catalog", func(t *testing.T) { run(t, false) })
	t.Run("wizard", func(t *testing.T) { run(t, true) })
}

func TestWalkNoOptions(t *testing.T) {
	t.Parallel()
	w := newWalk(t, false, "")
	u := w.user("ann")
	w.step("A user is assigned while no option is on", w.assign("ann"))
	w.step("The profile changes", w.do(http.MethodPost, "/api/v1/users/"+u, `{"profile":{"lastName":"Other"}}`))
	w.step("The user is deactivated", w.do(http.MethodPost, "/api/v1/users/"+u+"/lifecycle/deactivate", ""))
	w.end()
}

func TestWalkCreateUsers(t *testing.T) {
	t.Parallel()
	bothStyles(t, walkCreateUsers)
}

func walkCreateUsers(t *testing.T, wizard bool) {
	w := newWalk(t, wizard, `{`+createOn+`}`)
	u := w.user("ann")
	w.step("A user is assigned", w.assign("ann"))
	w.step("The profile changes, which requires Update User Attributes",
		w.do(http.MethodPost, "/api/v1/users/"+u, `{"profile":{"lastName":"Other"}}`))
	w.step("The user is unassigned, which requires Deactivate Users", w.do(http.MethodDelete, w.path("/users/"+u), ""))
	w.step("The same user is assigned again", w.assign("ann"))
	messages := func() (texts []string) {
		var all []struct{ Template, Text string }
		do(t, w.api, http.MethodGet, "/sandbox/v1/outbox", "", &all)
		for _, m := range all {
			if m.Template == "app.user.unassigned" {
				texts = append(texts, m.Text)
			}
		}
		return texts
	}
	require.Empty(t, messages(), "no message without sendEmail")
	do(t, w.api, http.MethodDelete, w.path("/users/"+u+"?sendEmail=true"), "", nil)
	require.Equal(t, []string{"ann@walk.example is no longer assigned to Walk."}, messages())
	w.end()
}

func TestWalkUpdateAttributes(t *testing.T) {
	t.Parallel()
	bothStyles(t, func(t *testing.T, wizard bool) {
		w := newWalk(t, wizard, `{`+createOn+`,"update":{`+updateOn+`}}`)
		u := w.user("ann")
		w.step("A user is assigned", w.assign("ann"))
		w.step("The profile changes", w.do(http.MethodPost, "/api/v1/users/"+u, `{"profile":{"lastName":"Other"}}`))
		w.step("An unmapped attribute changes", w.do(http.MethodPost, "/api/v1/users/"+u, `{"profile":{"nickName":"A"}}`))
		w.step("The login changes, and the user name with it",
			w.do(http.MethodPost, "/api/v1/users/"+u, `{"profile":{"login":"anna@walk.example"}}`))
		w.step("The login and the email address change",
			w.do(http.MethodPost, "/api/v1/users/"+u, `{"profile":{"login":"annie@walk.example","email":"annie@walk.example"}}`))
		w.step("An administrator sets the user name of the assignment",
			w.do(http.MethodPost, w.path("/users/"+u), `{"credentials":{"userName":"ann.w"}}`))
		w.step("The login changes, but not the user name set by the administrator",
			w.do(http.MethodPost, "/api/v1/users/"+u, `{"profile":{"login":"ann@walk.example"}}`))
		w.end()
	})
}

func TestWalkDeactivateUsers(t *testing.T) {
	t.Parallel()
	bothStyles(t, func(t *testing.T, wizard bool) {
		w := newWalk(t, wizard, `{`+createOn+`,"update":{`+deactivateOn+`}}`)
		u := w.user("ann")
		w.step("A user is assigned", w.assign("ann"))
		w.step("The user is suspended, without a request to the target", w.do(http.MethodPost, "/api/v1/users/"+u+"/lifecycle/suspend", ""))
		w.step("The suspension ends", w.do(http.MethodPost, "/api/v1/users/"+u+"/lifecycle/unsuspend", ""))
		w.step("The user is unassigned", w.do(http.MethodDelete, w.path("/users/"+u), ""))
		w.step("The user is assigned again", w.assign("ann"))
		w.step("The user is deactivated", w.do(http.MethodPost, "/api/v1/users/"+u+"/lifecycle/deactivate", ""))
		w.step("The user is deleted, without a request to the target", w.do(http.MethodDelete, "/api/v1/users/"+u, ""))
		w.end()
	})
}

func TestWalkDeactivateByGroupAndApp(t *testing.T) {
	t.Parallel()
	w := newWalk(t, false, `{`+createOn+`,"update":{`+deactivateOn+`}}`)
	u := w.user("ann")
	var group struct{ ID string }
	do(t, w.api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"staff"}}`, &group)
	member := "/api/v1/groups/" + group.ID + "/users/" + u
	w.step("The group of a user is assigned", func() {
		w.do(http.MethodPut, member, "")()
		w.do(http.MethodPut, w.path("/groups/"+group.ID), "")()
	})
	w.step("The user is removed from the group", w.do(http.MethodDelete, member, ""))
	w.step("The user is added to the group again", w.do(http.MethodPut, member, ""))
	w.step("The group is unassigned", w.do(http.MethodDelete, w.path("/groups/"+group.ID), ""))
	w.step("The group is assigned again", w.do(http.MethodPut, w.path("/groups/"+group.ID), ""))
	w.step("The app is deactivated, without a request to the target", w.do(http.MethodPost, w.path("/lifecycle/deactivate"), ""))
	w.step("The app is activated again", w.do(http.MethodPost, w.path("/lifecycle/activate"), ""))
	w.step("The group is deleted", w.do(http.MethodDelete, "/api/v1/groups/"+group.ID, ""))
	w.end()
}

func TestWalkSyncPassword(t *testing.T) {
	t.Parallel()
	set := func(password string) string {
		return fmt.Sprintf(`{"credentials":{"password":{"value":%q}}}`, password)
	}
	for _, c := range []struct {
		name, seed, change string
		wizard             bool
	}{
		{"svc-change", "SVC", "CHANGE", false}, {"svc-keep", "SVC", "KEEP_EXISTING", false}, {"random-change", "RANDOM", "CHANGE", false},
		{"svc-change-wizard", "SVC", "CHANGE", true}, {"random-change-wizard", "RANDOM", "CHANGE", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWalk(t, c.wizard, `{`+createOn+`,"update":{"password":{"status":"ENABLED","seed":"`+c.seed+`","change":"`+c.change+`"}}}`)
			var everyone []struct{ ID string }
			do(t, w.api, http.MethodGet, "/api/v1/groups?q=Everyone", "", &everyone)
			u := w.user("ann")
			w.step("An existing user is assigned", w.assign("ann"))
			w.step("The user signs in", w.do(http.MethodPost, "/api/v1/authn", `{"username":"ann@walk.example","password":"Tlpwd-2026"}`))
			w.step("The password is changed", w.do(http.MethodPost, "/api/v1/users/"+u, set("Second-2026")))
			w.step("The user signs in again", w.do(http.MethodPost, "/api/v1/authn", `{"username":"ann@walk.example","password":"Second-2026"}`))
			w.step("Everyone is assigned, and a user is created with a password", func() {
				w.do(http.MethodPut, w.path("/groups/"+everyone[0].ID), "")()
				do(t, w.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
				w.mu.Lock()
				w.sent = nil // do not record the requests that provision the administrator, who is also a member of Everyone
				w.mu.Unlock()
				w.user("bob")
			})
			w.step("The option is disabled, and the password changes", func() {
				w.do(http.MethodPut, w.path("/features/USER_PROVISIONING"), `{"update":{"password":{"status":"DISABLED"}}}`)()
				w.do(http.MethodPost, "/api/v1/users/"+u, set("Third-2026"))()
			})
			w.end()
		})
	}
}

func TestWalkGroupPush(t *testing.T) {
	t.Parallel()
	bothStyles(t, func(t *testing.T, wizard bool) {
		w := newWalk(t, wizard, `{`+createOn+`}`)
		ann, bob := w.user("ann"), w.user("bob")
		var group, mapping struct{ ID string }
		do(t, w.api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"staff"}}`, &group)
		members := "/api/v1/groups/" + group.ID + "/users/"
		w.step("A member of a group is assigned", func() {
			w.do(http.MethodPut, members+ann, "")()
			w.assign("ann")()
		})
		w.step("The group is pushed", func() {
			do(t, w.api, http.MethodPost, w.path("/group-push/mappings"), fmt.Sprintf(`{"sourceGroupId":%q,"targetGroupName":"Staff"}`, group.ID),
				&mapping)
		})
		one := w.path("/group-push/mappings/" + mapping.ID)
		w.step("An unassigned user is added to the group", w.do(http.MethodPut, members+bob, ""))
		w.step("The member is removed", w.do(http.MethodDelete, members+ann, ""))
		w.step("The group is renamed", w.do(http.MethodPut, "/api/v1/groups/"+group.ID, `{"profile":{"name":"people"}}`))
		w.step("The mapping is paused, and the member is added again", func() {
			w.do(http.MethodPatch, one, `{"status":"INACTIVE"}`)()
			w.do(http.MethodPut, members+ann, "")()
		})
		w.step("The mapping is resumed", w.do(http.MethodPatch, one, `{"status":"ACTIVE"}`))
		w.step("The mapping is deleted with the group", func() {
			w.do(http.MethodPatch, one, `{"status":"INACTIVE"}`)()
			w.do(http.MethodDelete, one+"?deleteTargetGroup=true", "")()
		})
		w.end()
	})
}
