package slicetest_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
)

// entry is the part of an event that tests compare.
type entry struct{ Type, Result, Reason, Sent string }

// logOf returns the log events of jobs.
func logOf(w *apptest.World) []entry {
	var events []struct {
		EventType, Severity string
		Actor               struct{ Type string }
		Outcome             struct{ Result, Reason string }
		Target              []struct{ Type string }
		DebugContext        struct{ DebugData map[string]string }
	}
	w.Get("/logs?limit=1000&filter=" + url.QueryEscape(`transaction.type eq "JOB" and actor.type eq "SystemPrincipal"`)).OK().Into(&events)
	out := []entry{}
	for _, e := range events {
		debug := e.DebugContext.DebugData
		sent := ""
		if debug["scimMethod"] != "" {
			sent = debug["scimMethod"] + " " + debug["scimPath"] + " " + debug["scimStatus"]
		}
		if debug["scimAlternative"] != "" {
			sent += " instead: " + debug["scimAlternative"]
		}
		out = append(out, entry{e.EventType, e.Outcome.Result, e.Outcome.Reason, sent})
		if (e.Outcome.Result == "FAILURE") != (e.Severity == "ERROR") {
			out = append(out, entry{Type: "the severity " + e.Severity + " does not match the result"})
		}
	}
	return out
}

const (
	lookup = `/Users?filter=userName+eq+%22ann%40example.com%22&startIndex=1&count=100`
	prefix = "application.provision."
	ok     = "SUCCESS"
	failed = "FAILURE"
)

// TestDesired_UserLogEvents checks the log events that the service writes for each result of provisioning a user.
func TestDesired_UserLogEvents(t *testing.T) {
	get := desired.Step{Method: http.MethodGet, Path: lookup, Status: 200}
	for name, test := range map[string]struct {
		before []desired.Result // the results that were reported before result
		remove bool             // removes the assignment before result is reported
		result desired.Result
		want   []entry
	}{
		"a user is created": {
			result: desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Created,
				Steps: []desired.Step{get, {Method: http.MethodPost, Path: "/Users", Status: 201}}},
			want: []entry{
				{prefix + "user.verify_exists", ok, "", "GET " + lookup + " 200"}, {prefix + "user.push", ok, "", "POST /Users 201"},
				{"app.user_management.push_new_user_success", ok, "", ""}, {"application.user_membership.provision", ok, "", ""},
			},
		},
		"a lookup with the response 404 means that there is no account": {
			result: desired.Result{Outcome: desired.Failed, Error: "409: taken", Operation: desired.Created, Steps: []desired.Step{
				{Method: http.MethodGet, Path: lookup, Status: 404}, {Method: http.MethodPost, Path: "/Users", Status: 409},
			}},
			want: []entry{{prefix + "user.verify_exists", ok, "", "GET " + lookup + " 404"},
				{prefix + "user.push", failed, "409: taken", "POST /Users 409"}},
		},
		"a create is rejected, and a lookup finds nothing": {
			result: desired.Result{Outcome: desired.Failed, Error: "create: exists (409 uniqueness: seat taken), but not found",
				Operation: desired.Created, Steps: []desired.Step{
					get, {Method: http.MethodPost, Path: "/Users", Status: 409, Message: "409 uniqueness: seat taken"}, get,
				}},
			want: []entry{
				{prefix + "user.verify_exists", ok, "", "GET " + lookup + " 200"},
				{prefix + "user.push", failed, "create: exists (409 uniqueness: seat taken), but not found", "POST /Users 409"},
				{prefix + "user.verify_exists", ok, "", "GET " + lookup + " 200"},
			},
		},
		"a create is rejected, and a lookup finds several accounts": {
			result: desired.Result{Outcome: desired.Failed, Error: "2 accounts match", Operation: desired.Created, Steps: []desired.Step{
				get, {Method: http.MethodPost, Path: "/Users", Status: 409, Message: "409: seat taken"}, get,
			}},
			want: []entry{
				{prefix + "user.verify_exists", ok, "", "GET " + lookup + " 200"}, {prefix + "user.push", failed, "409: seat taken", "POST /Users 409"},
				{prefix + "user.verify_exists", failed, "2 accounts match", "GET " + lookup + " 200"},
			},
		},
		"a create is rejected, and the update of the found account is rejected": {
			result: desired.Result{Outcome: desired.Failed, Error: "update: 400: no", Operation: desired.Linked, Steps: []desired.Step{
				{Method: http.MethodPost, Path: "/Users", Status: 409, Message: "409: seat taken"}, get,
				{Method: http.MethodGet, Path: "/Users/r1", Status: 200}, {Method: http.MethodPut, Path: "/Users/r1", Status: 400, Message: "400: no"},
			}},
			want: []entry{
				{prefix + "user.push", failed, "409: seat taken", "POST /Users 409"}, {prefix + "user.verify_exists", ok, "", "GET " + lookup + " 200"},
				{prefix + "user.push_profile", failed, "update: 400: no", "PUT /Users/r1 400"},
			},
		},
		"a lookup with an HTML response": {
			result: desired.Result{Outcome: desired.Failed, Error: "lookup: the answer is text/html", Steps: []desired.Step{
				{Method: http.MethodGet, Path: lookup, Status: 200, Message: "the answer is text/html"},
			}},
			want: []entry{{prefix + "user.verify_exists", failed, "lookup: the answer is text/html", "GET " + lookup + " 200"}},
		},
		"a deactivation without effect": {
			before: []desired.Result{{Outcome: desired.Done, RemoteID: "r1"}},
			result: desired.Result{Outcome: desired.Failed, Error: "still active", Operation: desired.Deactivated, Steps: []desired.Step{
				{Method: http.MethodPatch, Path: "/Users/r1", Status: 204}, {Method: http.MethodGet, Path: "/Users/r1", Status: 200},
			}},
			want: []entry{{prefix + "user.deactivate", failed, "still active", "PATCH /Users/r1 204"}},
		},
		"requests in an alternative form": {
			result: desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Created, Steps: []desired.Step{
				{Method: http.MethodGet, Path: lookup, Status: 400},
				{Method: http.MethodGet, Path: "/Users?startIndex=1&count=100", Status: 200, Alternative: "GET of the whole list (400)"},
				{Method: http.MethodGet, Path: "/Users?startIndex=101&count=100", Status: 200, Alternative: "GET of the whole list (400)"},
				{Method: http.MethodPost, Path: "/Users", Status: 201},
			}},
			want: []entry{
				{prefix + "user.verify_exists", failed, "The target responded with status 400", "GET " + lookup + " 400"},
				{prefix + "user.verify_exists", ok, "", "GET /Users?startIndex=1&count=100 200 instead: GET of the whole list (400)"},
				{prefix + "user.push", ok, "", "POST /Users 201"},
				{"app.user_management.push_new_user_success", ok, "", ""}, {"application.user_membership.provision", ok, "", ""},
			},
		},
		"a success without an account is a failure": {
			result: desired.Result{Outcome: desired.Failed, Error: "the answer has no id", Operation: desired.Created,
				Steps: []desired.Step{get, {Method: http.MethodPost, Path: "/Users", Status: 201}}},
			want: []entry{{prefix + "user.verify_exists", ok, "", "GET " + lookup + " 200"},
				{prefix + "user.push", failed, "the answer has no id", "POST /Users 201"}},
		},
		"an account that cannot be read": {
			before: []desired.Result{{Outcome: desired.Done, RemoteID: "r1"}},
			result: desired.Result{Outcome: desired.Failed, Error: "500", Operation: desired.Updated,
				Steps: []desired.Step{{Method: http.MethodGet, Path: "/Users/r1", Status: 500}}},
			want: []entry{{prefix + "user.push_profile", failed, "500", ""}},
		},
		"nothing could be sent, which is logged once": {
			before: []desired.Result{{Outcome: desired.Failed, Error: "no token"}},
			result: desired.Result{Outcome: desired.Failed, Error: "no token"},
			want:   []entry{{prefix + "user.push_profile", failed, "no token", ""}},
		},
		"a target that does not respond": {
			result: desired.Result{Outcome: desired.Failed, Error: "connection refused",
				Steps: []desired.Step{{Method: http.MethodGet, Path: lookup}}},
			want: []entry{{prefix + "user.verify_exists", failed, "connection refused", "GET " + lookup + " 0"}},
		},
		"an existing account is linked and updated": {
			result: desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Linked,
				Steps: []desired.Step{get, {Method: http.MethodPut, Path: "/Users/r1", Status: 200}}},
			want: []entry{
				{prefix + "user.verify_exists", ok, "", "GET " + lookup + " 200"}, {prefix + "user.push_profile", ok, "", "PUT /Users/r1 200"},
				{prefix + "user.sync", ok, "", ""}, {"application.user_membership.provision", ok, "", ""},
			},
		},
		"a profile is updated in an alternative form": {
			before: []desired.Result{{Outcome: desired.Done, RemoteID: "r1"}},
			result: desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Updated, Steps: []desired.Step{
				{Method: http.MethodGet, Path: "/Users/r1", Status: 200}, {Method: http.MethodPatch, Path: "/Users/r1", Status: 501},
				{Method: http.MethodPut, Path: "/Users/r1", Status: 200},
			}},
			want: []entry{
				{prefix + "user.push_profile", failed, "The target responded with status 501", "PATCH /Users/r1 501"},
				{prefix + "user.push_profile", ok, "", "PUT /Users/r1 200"},
			},
		},
		"a user is reactivated": {
			before: []desired.Result{{Outcome: desired.Done, RemoteID: "r1"}},
			result: desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Reactivated,
				Steps: []desired.Step{{Method: http.MethodPatch, Path: "/Users/r1", Status: 204}}},
			want: []entry{{prefix + "user.reactivate", ok, "", "PATCH /Users/r1 204"}},
		},
		"an assignment is removed": {
			before: []desired.Result{{Outcome: desired.Done, RemoteID: "r1"}},
			remove: true,
			result: desired.Result{Outcome: desired.Done, RemoteID: "r1", Operation: desired.Deactivated,
				Steps: []desired.Step{{Method: http.MethodPatch, Path: "/Users/r1", Status: 200}}},
			want: []entry{
				{prefix + "user.deactivate", ok, "", "PATCH /Users/r1 200"}, {prefix + "user.deprovision", ok, "", ""},
				{"application.user_membership.deprovision", ok, "", ""},
			},
		},
		"nothing is to be sent": {result: desired.Result{Outcome: desired.Skipped}, want: []entry{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := apptest.New(t)
			app := w.SCIMApp("HR")
			w.Connect(app, apptest.All)
			ann := w.User("ann")
			w.Assign(app, ann)
			for _, r := range test.before {
				require.NoError(t, w.Desired.ReportUser(t.Context(), app, ann, r))
			}
			if test.remove {
				w.Delete("/apps/" + app + "/users/" + ann).OK()
			}
			require.NoError(t, w.Desired.ReportUser(t.Context(), app, ann, test.result))
			require.Empty(t, cmp.Diff(test.want, logOf(w)))
		})
	}
}

// TestDesired_GroupLogEvents checks the log events that the service writes for each result of pushing a group.
func TestDesired_GroupLogEvents(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		app := w.SCIMApp("HR")
		w.Connect(app, "")
		group := w.Group("Engineers")
		mapping := w.Post("/apps/"+app+"/group-push/mappings",
			map[string]any{"sourceGroupId": group, "targetGroupName": "Engineers"}).OK(201).Text("id")
		report := func(r desired.Result) { require.NoError(t, w.Desired.ReportGroup(t.Context(), app, group, r)) }
		step := func(method, path string, status int) []desired.Step {
			return []desired.Step{{Method: method, Path: path, Status: status}}
		}
		report(desired.Result{Outcome: desired.Failed, Error: "503", Steps: step("POST", "/Groups", 503)})
		report(desired.Result{Outcome: desired.Done, RemoteID: "g1", Steps: step("POST", "/Groups", 201)})
		report(desired.Result{Outcome: desired.Done, RemoteID: "g1", Steps: step("PATCH", "/Groups/g1", 204)})
		report(desired.Result{Outcome: desired.Done, RemoteID: "g1"})
		w.Patch("/apps/"+app+"/group-push/mappings/"+mapping, `{"status":"INACTIVE"}`).OK()
		w.Delete("/apps/" + app + "/group-push/mappings/" + mapping + "?deleteTargetGroup=true").OK(204)
		report(desired.Result{Outcome: desired.Done, Steps: step("DELETE", "/Groups/g1", 204)})
		require.Empty(t, cmp.Diff([]entry{
			{prefix + "group.add", failed, "503", "POST /Groups 503"},
			{prefix + "group_push.mapping.update.or.delete.failed.with.error", failed, "503", ""},
			{prefix + "group.add", ok, "", "POST /Groups 201"}, {prefix + "group_push.pushed", ok, "", ""},
			{prefix + "group.update", ok, "", "PATCH /Groups/g1 204"}, {prefix + "group_push.push_memberships", ok, "", ""},
			{prefix + "group.remove", ok, "", "DELETE /Groups/g1 204"},
		}, logOf(w)))
	})
}
