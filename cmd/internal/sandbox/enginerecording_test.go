package sandbox_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// engineRecorder sends requests to the engine's control API and records status, content type and body of each response. Values that differ
// between runs (ids, times, durations, ports) are replaced by constant names.
type engineRecorder struct {
	*driven
	text strings.Builder
	ids  map[string]string
}

// The values that differ between runs.
var (
	volatileTime  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	volatileClock = regexp.MustCompile(`\bat \d\d:\d\d:\d\d`)
	volatileTook  = regexp.MustCompile(`,"took":\d+|("durationMs":)\d+`) // took is absent if it is zero
	volatileError = regexp.MustCompile(`"errorId":"[^"]*"`)
	volatileID    = regexp.MustCompile(`[A-Za-z0-9_+/-]{16,}=*`)
	volatileHost  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	randomText    = regexp.MustCompile(`^[A-Z2-7]{26}$`) // as rand.Text makes it; one of 220 has no digit
)

// stable replaces the values that differ between runs. An id is a long word with a digit, or random text; equal ids get the same name.
func (r *engineRecorder) stable(text string) string {
	text = volatileTime.ReplaceAllString(text, "TIME")
	text = volatileClock.ReplaceAllString(text, "at CLOCK")
	text = volatileTook.ReplaceAllString(text, `$1`)
	text = volatileError.ReplaceAllString(text, `"errorId":"ERROR"`)
	text = volatileHost.ReplaceAllString(text, "HOST")
	return volatileID.ReplaceAllStringFunc(text, func(word string) string {
		parts := strings.Split(word, "/") // a word may be a path, whose segments may be ids
		for i, part := range parts {
			isID := randomText.MatchString(part) || len(part) >= 16 && strings.ContainsAny(part, "0123456789") && !strings.HasPrefix(part, "urn")
			if !isID {
				continue
			}
			if r.ids[part] == "" {
				r.ids[part] = fmt.Sprintf("ID%d", len(r.ids)+1)
			}
			parts[i] = r.ids[part]
		}
		return strings.Join(parts, "/")
	})
}

// send sends a request and records the response. headers are alternating names and values.
func (r *engineRecorder) send(method, path, body string, headers ...string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.ready.BaseURL+path, strings.NewReader(body))
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "SSWS "+r.ready.APIToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	fmt.Fprintf(&r.text, "%s\n", r.stable(strings.TrimSpace(method+" "+path+" "+body+" "+strings.Join(headers, " "))))
	fmt.Fprintf(&r.text, "%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	for _, name := range []string{"Allow", "Cache-Control", "Www-Authenticate"} {
		if v := res.Header.Get(name); v != "" {
			fmt.Fprintf(&r.text, " %s: %s", name, v)
		}
	}
	fmt.Fprintf(&r.text, "\n%s\n", r.stable(string(data)))
	return string(data)
}

// at sends a request below the app.
func (r *engineRecorder) at(method, path, body string) string {
	r.t.Helper()
	return r.send(method, r.of(path), body)
}

func (r *engineRecorder) part(name string) { fmt.Fprintf(&r.text, "# %s\n\n", name) }

// first returns the first value of a member in a JSON document.
func first(t *testing.T, text, member string) string {
	t.Helper()
	m := regexp.MustCompile(`"` + member + `":"([^"]*)"`).FindStringSubmatch(text)
	require.NotNil(t, m, text)
	return m[1]
}

// Every operation of the engine's control API responds with the recorded status and bytes.
func TestEngineAPI_Recording(t *testing.T) {
	r := &engineRecorder{driven: drive(t, sandbox.Options{Guard: 1}), ids: map[string]string{}}
	r.part("an app without users")
	r.send("GET", "/sandbox/v1/engine/apps", "")
	r.send("GET", "/sandbox/v1/engine/apps/"+r.app, "")
	for _, list := range []string{"/principals", "/plans", "/links", "/events", "/tasks", "/attempts"} {
		r.at("GET", list, "")
	}
	r.at("GET", "/profile", "")
	r.recordProvisioning()
	r.recordFailures()
	r.recordPlansAndDrift()
	r.recordImports()
	r.recordHalts()
	r.recordProbe()
	r.recordRejections()
	goldentest.Check(t, filepath.Join("testdata", "engineapi.txt"), r.text.String())
}

func (r *engineRecorder) recordProvisioning() {
	ann := r.assign("ann@northwind.example")
	r.settle()
	var group, mapping struct{ ID, MappingID string }
	do(r.t, r.api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"Sales <& Support>"}}`, &group)
	do(r.t, r.api, http.MethodPut, "/api/v1/groups/"+group.ID+"/users/"+ann, "", nil)
	do(r.t, r.api, http.MethodPost, "/api/v1/apps/"+r.app+"/group-push/mappings",
		fmt.Sprintf(`{"sourceGroupId":%q,"targetGroupName":"Sales <& Support>"}`, group.ID), &mapping)
	r.settle()
	r.part("a user and a group")
	r.at("POST", "/wait?timeoutSeconds=60", "")
	r.at("GET", "/principals", "")
	r.at("GET", "/principals?kind=group&status=clean&limit=1", "")
	r.at("GET", "/principals?after=user:"+ann, "")
	for _, one := range []string{"/principals/user/" + ann, "/principals/group/" + group.ID} {
		r.at("GET", one, "")
		r.at("GET", one+"/trace", "")
		r.at("GET", one+"/proof", "")
		r.at("GET", one+"/explanation", "")
		r.at("POST", one+"/provision", `{"forceSync":true,"allMembers":true}`)
		r.at("POST", one+"/wait", "")
		r.at("GET", one+"/events", "")
	}
	r.at("GET", "/events?after=1&limit=1", "")
	r.at("GET", "/attempts?userId="+ann+"&limit=2", "")
	r.at("GET", "/attempts?groupId="+group.ID+"&limit=1", "")
	r.at("POST", "/provision", "")
	r.settle()
	do(r.t, r.api, http.MethodPost, "/api/v1/users/"+ann, `{"profile":{"lastName":"O'Hara <b>"}}`, nil)
	r.settle()
	r.alter(ann, `{"name":{"givenName":"Anna","familyName":"Other <i>"}}`)
	r.part("an account that was changed")
	r.at("GET", "/principals/user/"+ann+"/proof", "")
	r.at("GET", "/principals/user/"+ann+"/trace", "")
	r.at("POST", "/principals/user/"+ann+"/provision", "{}")
}

func (r *engineRecorder) recordFailures() {
	working := r.target.handler.Load().(boxed)
	r.target.set(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/scim+json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"no license left"}`)
			return
		}
		working.ServeHTTP(w, req)
	}))
	cy := r.assign("cy@northwind.example")
	r.settle()
	r.part("a target that rejects")
	r.at("GET", "/tasks", "")
	r.at("POST", "/tasks/"+cy+"/retry", "")
	r.settle()
	r.at("GET", "/principals/user/"+cy, "")
	r.at("GET", "/principals/user/"+cy+"/trace", "")
	r.at("GET", "/principals/user/"+cy+"/explanation", "")
	r.at("POST", "/tasks/retry", "")
	r.settle()
	r.at("POST", "/tasks/"+cy+"/dismiss", "")
	r.at("POST", "/tasks/"+cy+"/dismiss", "")
	r.at("POST", "/tasks/nosuch/dismiss", "")
	r.at("POST", "/tasks/nosuch/retry", "")
	r.target.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	r.at("POST", "/drift", "")
	r.at("POST", "/reconcile", "")
	r.target.set(working.Handler)
	r.at("POST", "/principals/user/"+cy+"/provision", "")
	r.settle()
}

func (r *engineRecorder) recordPlansAndDrift() {
	bob := r.assign("bob@northwind.example")
	r.settle()
	r.alter(bob, `{"title":"altered","name":{"givenName":"Bobby","familyName":"Other"}}`)
	r.part("plans")
	plan := first(r.t, r.at("POST", "/plans", `{"userIds":["`+bob+`"],"reason":"names"}`), "id")
	r.at("GET", "/plans", "")
	r.at("GET", "/plans/"+plan, "")
	r.at("GET", "/plans/"+plan+"/items", "")
	r.at("GET", "/plans/"+plan+"/items?operation=create&outcome=done", "")
	r.at("POST", "/plans/"+plan+"/apply", `{"first":1}`)
	r.settle()
	r.at("POST", "/plans/"+plan+"/apply", "")
	r.at("DELETE", "/plans/"+plan, "")
	r.at("GET", "/plans/"+plan, "")
	r.at("POST", "/plans/"+plan+"/apply", "")
	r.at("DELETE", "/plans/"+plan, "")
	r.alter(bob, `{"title":"altered","name":{"givenName":"Bobby","familyName":"Other"}}`)
	r.scim(http.MethodPost, "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"unmanaged"}`, http.StatusCreated)
	r.part("drift")
	r.at("POST", "/drift", "")
	r.at("POST", "/drift", `{"kind":"group"}`)
	r.at("POST", "/drift", `{"repair":true,"limit":0}`)
	r.settle()
	r.at("POST", "/reconcile", "")
	r.settle()
}

func (r *engineRecorder) recordImports() {
	dee := newUser(r.t, r.api, "dee@northwind.example")
	r.scim(http.MethodPost, "/Users",
		`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"dee@northwind.example","externalId":"`+dee+`"}`,
		http.StatusCreated)
	r.part("imports and links")
	for _, kind := range []string{"USERS", "GROUPS"} {
		job := first(r.t, r.at("POST", "/import", `{"type":"`+kind+`"}`), "jobId")
		do(r.t, r.api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
		r.at("GET", "/import/"+job, "")
		r.at("GET", "/import/"+job+"/objects?limit=3", "")
		r.at("GET", "/import/"+job+"/objects?verdict=unmatched", "")
		r.at("POST", "/import/"+job+"/confirm", "")
		r.settle()
	}
	r.at("GET", "/import/x", "")
	r.at("GET", "/import/4711", "")
	r.at("GET", "/import/4711/objects", "")
	r.at("POST", "/import/4711/confirm", "")
	r.at("POST", "/import", `{"type":"PETS"}`)
	r.at("GET", "/links", "")
	r.at("GET", "/links?limit=1&after=group:x", "")
	fay := newUser(r.t, r.api, "fay@northwind.example")
	r.at("POST", "/links",
		fmt.Sprintf(`{"links":[{"kind":"user","id":%q,"remoteId":"77"},{"kind":"user","id":%q,"remoteId":"77"}]}`, fay, dee))
	r.at("POST", "/links", fmt.Sprintf(`{"links":[{"kind":"user","id":%q,"remoteId":"77","remoteName":"fay","origin":"created"}]}`, fay))
	r.at("POST", "/links", `{"links":[{"kind":"robot","id":"","origin":"born"}]}`)
	r.at("GET", "/links?after=user:", "")
	r.settle()
}

func (r *engineRecorder) recordHalts() {
	r.part("halts and approvals")
	r.at("POST", "/halt", `{"operations":["deactivate"],"reason":"ticket 4711"}`)
	r.send("POST", "/sandbox/v1/engine/halt", `{"operations":["update"]}`)
	r.send("GET", "/sandbox/v1/engine/apps/"+r.app, "")
	r.send("POST", "/sandbox/v1/engine/resume", "")
	r.at("POST", "/resume", `{"operations":["deactivate"]}`)
	r.at("POST", "/approve", `{"expected":3}`)
	r.at("POST", "/release", "")
	r.settle()
}

func (r *engineRecorder) recordProbe() {
	r.part("probe")
	r.at("POST", "/probe", `{"domain":"example.org"}`)
	r.at("GET", "/profile", "")
	r.send("GET", "/sandbox/v1/engine/apps", "")
	r.at("POST", "/unlearn", "")
	r.at("GET", "/profile", "")
}

func (r *engineRecorder) recordRejections() {
	r.part("requests that are rejected")
	r.at("GET", "/principals/robot/x", "")
	r.at("GET", "/principals/user/nobody", "")
	r.at("GET", "/principals/user/nobody/trace", "")
	r.at("GET", "/principals/group/nobody/explanation", "")
	r.at("GET", "/principals?after=ann", "")
	r.at("GET", "/principals?limit=0", "")
	r.at("GET", "/principals?limit=100000&status=odd", "")
	r.at("GET", "/links?after=robot:1", "")
	r.at("POST", "/halt", `{"operations":["fly"]}`)
	r.at("POST", "/halt", `{"operations":`)
	r.at("POST", "/approve", "")
	r.at("POST", "/approve", `{"expected":0}`)
	r.at("POST", "/plans", `{}`)
	r.at("POST", "/plans", `{"userIds":"x","reason":7}`)
	r.at("POST", "/links", `{}`)
	r.at("POST", "/drift", `{"kind":"robot","limit":-1}`)
	r.at("POST", "/wait?timeoutSeconds=0", "")
	r.at("POST", "/plans/x/apply", `{"first":0}`)
	for _, path := range []string{"", "/", "/nosuch", "/apps/nosuch/tasks", "/apps/nosuch/events", "/apps/nosuch/plans", "/apps//tasks",
		"/engine", "/engine/apps/nosuch", "/engine/nosuch"} {
		r.send("GET", "/sandbox/v1"+path, "")
	}
	r.send("DELETE", "/sandbox/v1/engine/apps", "")
	r.send("PUT", r.of("/principals"), "")
	r.send("GET", r.of("/principals"), "", "Accept", "text/plain")
	r.send("GET", r.of("/principals"), "", "Authorization", "")
	r.send("GET", r.of("/principals"), "", "Authorization", "SSWS nothing")
	r.send("GET", r.of("/nosuch"), "", "Authorization", "")
	var token struct{ Token string }
	powerless := newUser(r.t, r.api, "powerless@northwind.example")
	do(r.t, r.api, http.MethodPost, "/sandbox/v1/api-tokens", fmt.Sprintf(`{"name":"none","userId":%q}`, powerless), &token)
	r.send("GET", r.of("/principals"), "", "Authorization", "SSWS "+token.Token)
	r.send("POST", r.of("/halt"), "{", "Authorization", "SSWS "+token.Token)
	r.send("GET", "/sandbox/v1/authz/explain?user=me&method=POST&path="+r.of("/halt"), "")
	do(r.t, r.api, http.MethodPost, "/api/v1/apps/"+r.app+"/lifecycle/deactivate", "", nil)
	r.part("an app that is not active")
	r.send("GET", "/sandbox/v1/engine/apps/"+r.app, "")
	r.at("POST", "/drift", "")
	r.at("POST", "/reconcile", "")
	r.at("POST", "/probe", "")
	var other struct{ ID string }
	do(r.t, r.api, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"Unconnected","settings":{"app":{}}}`, &other)
	r.app = other.ID
	kim := newUser(r.t, r.api, "kim@northwind.example")
	r.part("an app without a connection")
	r.send("GET", "/sandbox/v1/engine/apps/"+r.app, "")
	r.at("POST", "/probe", "")
	r.at("GET", "/principals/user/"+kim+"/trace", "")
	r.at("GET", "/principals/user/"+kim+"/proof", "")
	r.at("GET", "/principals/user/"+kim+"/explanation", "")
	r.at("POST", "/principals/user/"+kim+"/provision?timeoutSeconds=1", "")
	r.at("POST", "/principals/user/"+kim+"/wait?timeoutSeconds=1", "")
	r.at("POST", "/wait?timeoutSeconds=1", "")
	r.at("GET", "/tasks", "")
	r.at("POST", "/plans", `{"all":true}`)
	r.at("POST", "/import", `{"type":"USERS"}`)
}
