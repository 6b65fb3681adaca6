package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// altering is a target that stores users after a function has altered them.
type altering struct {
	mu     sync.Mutex
	users  map[string]map[string]any
	posts  int
	bodies []string
	// alter changes a user before it is stored, and returns a status to reject it with, 0 for none.
	alter func(user map[string]any) int
	// schema are the attributes of the User schema. nil means that the target has no /Schemas.
	schema []map[string]any
}

func (a *altering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	reply := func(status int, body any) {
		w.Header().Set("Content-Type", "application/scim+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	var body map[string]any
	if r.Body != nil && r.Method != http.MethodGet {
		_ = json.NewDecoder(r.Body).Decode(&body)
		text, _ := json.Marshal(body)
		a.bodies = append(a.bodies, r.Method+" "+string(text))
	}
	collection, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case collection == "Schemas" && a.schema != nil:
		reply(200, map[string]any{"Resources": []any{
			map[string]any{"id": "urn:ietf:params:scim:schemas:core:2.0:User", "attributes": a.schema}}})
		return
	case collection != "Users":
		reply(404, nil)
		return
	case r.Method == http.MethodPost:
		a.posts++
		id, body["id"] = fmt.Sprint(a.posts), fmt.Sprint(a.posts)
	case r.Method == http.MethodGet && id == "":
		reply(200, map[string]any{"totalResults": 0, "Resources": []any{}})
		return
	case a.users[id] == nil:
		reply(404, nil)
		return
	case r.Method == http.MethodDelete:
		delete(a.users, id)
		reply(204, nil)
		return
	case r.Method == http.MethodGet:
		reply(200, a.users[id])
		return
	case r.Method == http.MethodPatch:
		message := body
		data, _ := json.Marshal(a.users[id])
		body = nil
		_ = json.Unmarshal(data, &body)
		for _, o := range message["Operations"].([]any) {
			op := o.(map[string]any)
			if parent, sub, nested := strings.Cut(op["path"].(string), "."); nested {
				body[parent].(map[string]any)[sub] = op["value"]
			} else {
				body[parent] = op["value"]
			}
		}
	default:
		body["id"] = id
	}
	if status := a.alter(body); status != 0 {
		reply(status, nil)
		return
	}
	a.users[id] = body
	status := 200
	if r.Method == http.MethodPost {
		status = 201
	}
	reply(status, body)
}

// newAltering starts a target.
func newAltering(t *testing.T, alter func(map[string]any) int) (*altering, conformance.Target) {
	t.Helper()
	a := &altering{users: map[string]map[string]any{}, alter: alter}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, conformance.Target{URL: server.URL}
}

// deriveDisplayName stores the userName as displayName.
func deriveDisplayName(user map[string]any) int {
	user["displayName"] = "derived from " + user["userName"].(string)
	return 0
}

// storesDisplayName is a check of the area with the given name: a PATCH of displayName is stored.
func storesDisplayName(area string, also ...string) conformance.Check {
	return one(area+".stores", writes, func(ctx context.Context, t *conformance.T) {
		extra := conformance.Doc{"displayName": "Before"}
		for _, name := range also {
			extra[name] = "Also"
		}
		u := t.CreateUser(ctx, "u", extra)
		t.Patch(ctx, u.Path(), conformance.Doc{"op": "replace", "path": "displayName", "value": "After"})
		got, _ := t.Read(ctx, u.Path()).Object().Get("displayName")
		t.Expect("displayName after PATCH", "After", got)
	})
}

func TestSubstitute_DerivedAttributeReplaced(t *testing.T) {
	a, target := newAltering(t, deriveDisplayName)
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{storesDisplayName("patch"), storesDisplayName("put")}})
	for _, c := range r.Checks {
		require.Equal(t, conformance.Pass, c.Outcome, c.Reason)
		require.Equal(t, []string{"run with title in place of displayName: the target derives displayName"}, c.Notes)
	}
	require.Contains(t, strings.Join(a.bodies, "\n"), `"path":"title","value":"After"`, "the request names the other attribute")
	require.Contains(t, strings.Join(r.Cautions, "\n"), "the target derives displayName")
	require.Empty(t, r.Leftovers)
	require.Empty(t, a.users)
}

// TestSubstitute_FaultOfReplacement checks that a finding names the attribute that was sent in place of the original one.
func TestSubstitute_FaultOfReplacement(t *testing.T) {
	_, target := newAltering(t, func(user map[string]any) int {
		for name, value := range user {
			if value == "After" {
				user[name] = "Other"
			}
		}
		return deriveDisplayName(user)
	})
	c := runChecks(t, target, conformance.Options{Checks: []conformance.Check{storesDisplayName("patch")}}).Checks[0]
	require.Equal(t, conformance.Fail, c.Outcome)
	require.Len(t, c.Findings, 1)
	require.Equal(t, []string{"title after PATCH", "After", "Other"}, []string{c.Findings[0].What, c.Findings[0].Want, c.Findings[0].Got})
	require.Contains(t, c.Findings[0].Exchange.ResponseBody, `"title":"Other"`)
}

func TestSubstitute_NoOtherAttribute(t *testing.T) {
	_, target := newAltering(t, deriveDisplayName)
	check := storesDisplayName("patch", "title", "nickName", "userType")
	c := runChecks(t, target, conformance.Options{Checks: []conformance.Check{check}}).Checks[0]
	require.Equal(t, conformance.Skip, c.Outcome)
	require.Equal(t, "the target derives displayName, and no other attribute can replace it", c.Reason)
}

// TestSubstitute_ToldOnce checks that one check of creation informs about an attribute that the target alters.
func TestSubstitute_ToldOnce(t *testing.T) {
	_, target := newAltering(t, deriveDisplayName)
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{storesDisplayName("create"), storesDisplayName("create")}})
	require.Equal(t, conformance.Info, r.Checks[0].Outcome)
	require.Len(t, r.Checks[0].Findings, 1)
	require.Equal(t, "displayName of a user, which the target derives", r.Checks[0].Findings[0].What)
	require.NotNil(t, r.Checks[0].Findings[0].Exchange)
	require.Equal(t, conformance.Pass, r.Checks[1].Outcome)
}

// TestSurvey_Standings checks which standing the survey finds for each kind of deviation. A target that loses an attribute in one operation
// only has a fault, and the survey must find the standing "stores".
func TestSurvey_Standings(t *testing.T) {
	for name, tt := range map[string]struct {
		alter  func(a *altering, user map[string]any) int
		schema []map[string]any
		want   conformance.Outcome
		reason string // part of the reason of the check or of one of its notes
	}{
		"stored": {alter: func(*altering, map[string]any) int { return 0 }, want: conformance.Pass},
		"ignored": {alter: func(_ *altering, user map[string]any) int {
			delete(user, "displayName")
			return 0
		}, want: conformance.Pass, reason: "the target ignores displayName"},
		"rejected": {alter: func(_ *altering, user map[string]any) int {
			if user["displayName"] != nil {
				return 400
			}
			return 0
		}, want: conformance.Pass, reason: "the target rejects displayName"},
		"lost by PATCH only": {alter: func(a *altering, user map[string]any) int {
			if user["displayName"] == "After" {
				delete(user, "displayName")
			}
			return 0
		}, want: conformance.Fail},
		"altered by POST only": {alter: func(a *altering, user map[string]any) int {
			if text, _ := user["displayName"].(string); strings.HasPrefix(text, "Survey one") || text == "After" {
				user["displayName"] = "altered"
			}
			return 0
		}, want: conformance.Fail},
		"readOnly": {alter: func(_ *altering, user map[string]any) int { return deriveDisplayName(user) },
			schema: []map[string]any{{"name": "displayName", "mutability": "readOnly"}, {"name": "title", "mutability": "readWrite"}},
			want:   conformance.Pass, reason: "the target's /Schemas declare displayName as readOnly"},
		"undeclared": {alter: func(_ *altering, user map[string]any) int {
			delete(user, "displayName")
			return 0
		}, schema: []map[string]any{{"name": "title"}}, want: conformance.Pass, reason: "the target's /Schemas do not list displayName"},
		"server error": {alter: func(_ *altering, user map[string]any) int {
			if user["displayName"] != nil {
				return 500
			}
			return 0
		}, want: conformance.Skip, reason: "returned 500"},
	} {
		t.Run(name, func(t *testing.T) {
			a, target := newAltering(t, nil)
			a.alter = func(user map[string]any) int { return tt.alter(a, user) }
			a.schema = tt.schema
			c := runChecks(t, target, conformance.Options{Checks: []conformance.Check{storesDisplayName("patch")}}).Checks[0]
			require.Equal(t, tt.want, c.Outcome, c.Reason)
			require.Contains(t, c.Reason+" "+strings.Join(c.Notes, " "), tt.reason)
			if tt.reason == "" {
				require.Empty(t, c.Notes)
			}
		})
	}
}

// TestSurvey_OnlyBeforeAccusations checks that a run without findings makes no survey, and that a run with several findings makes one
// survey.
func TestSurvey_OnlyBeforeAccusations(t *testing.T) {
	a, target := newAltering(t, func(map[string]any) int { return 0 })
	check := storesDisplayName("patch")
	runChecks(t, target, conformance.Options{Checks: []conformance.Check{check, check}})
	require.NotContains(t, strings.Join(a.bodies, "\n"), "Survey one")
	a, target = newAltering(t, deriveDisplayName)
	runChecks(t, target, conformance.Options{Checks: []conformance.Check{check, check}})
	require.Equal(t, 1, strings.Count(strings.Join(a.bodies, "\n"), "Survey one title"))
}

// TestSubstitute_ConfiguredAttributeStays checks that an attribute that the options add to all users replaces no other one.
func TestSubstitute_ConfiguredAttributeStays(t *testing.T) {
	_, target := newAltering(t, deriveDisplayName)
	opts := conformance.Options{Checks: []conformance.Check{storesDisplayName("patch")},
		Attributes: map[string]conformance.Doc{"User": {"title": "staff"}}}
	c := runChecks(t, target, opts).Checks[0]
	require.Equal(t, conformance.Pass, c.Outcome, c.Reason)
	require.Equal(t, []string{"run with nickName in place of displayName: the target derives displayName"}, c.Notes)
}

// TestSubstitute_QueryOverAllTypes checks that a check with a query over all resource types is not run with another attribute: the
// query may mean the displayName of groups.
func TestSubstitute_QueryOverAllTypes(t *testing.T) {
	a, target := newAltering(t, deriveDisplayName)
	check := one("root.names", writes, func(ctx context.Context, t *conformance.T) {
		u := t.CreateUser(ctx, "u", conformance.Doc{"displayName": "Sent"})
		t.Get(ctx, "/", "filter", `displayName eq "Sent"`)
		got, _ := t.Read(ctx, u.Path()).Object().Get("displayName")
		t.Expect("displayName", "Sent", got)
	})
	c := runChecks(t, target, conformance.Options{Checks: []conformance.Check{check}}).Checks[0]
	require.Equal(t, conformance.Skip, c.Outcome)
	require.NotContains(t, strings.Join(a.bodies, "\n"), `"title":"Sent"`)
}

// TestSubstitute_FixtureRebuilt checks that the objects of a fixture are built again with the other attributes, under other names, and
// that a fixture that the target rejects is built without the rejected attribute.
func TestSubstitute_FixtureRebuilt(t *testing.T) {
	fixture := func() *conformance.Fixture {
		return &conformance.Fixture{Name: "people", Requests: 2,
			Build: func(ctx context.Context, t *conformance.T) map[string]*conformance.Created {
				return map[string]*conformance.Created{"ada": t.CreateUser(ctx, "ada", conformance.Doc{"displayName": "Ada", "nickName": "Nick"})}
			}}
	}
	check := one("filter.names", writes, func(ctx context.Context, t *conformance.T) {
		res := t.CallConcurrently(ctx, conformance.Request{Method: "GET", Path: t.Fixture["ada"].Path(), Query: map[string][]string{
			"attributes": {"displayName"}}})[0]
		got, _ := res.Object().Get("displayName")
		t.Expect("displayName of the fixture", t.Fixture["ada"].Sent["displayName"], got)
	})
	check.Fixture = fixture()
	a, target := newAltering(t, deriveDisplayName)
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{check}})
	require.Equal(t, conformance.Pass, r.Checks[0].Outcome, r.Checks[0].Reason)
	require.Contains(t, strings.Join(a.bodies, "\n"), `"title":"Ada"`)
	require.Empty(t, a.users)
	require.Empty(t, r.Leftovers)

	check.Fixture = fixture()
	a, target = newAltering(t, func(user map[string]any) int {
		if user["nickName"] != nil {
			return 400
		}
		return 0
	})
	c := runChecks(t, target, conformance.Options{Checks: []conformance.Check{check}}).Checks[0]
	require.Equal(t, conformance.Pass, c.Outcome, c.Reason)
	require.Equal(t, []string{"objects of the fixture people lack nickName: the target rejects it in a create and in the updates"}, c.Notes)
	require.Empty(t, a.users)
}

// TestSurvey_OneOfManyRejected checks that the survey finds the one attribute that a target rejects, and no other one.
func TestSurvey_OneOfManyRejected(t *testing.T) {
	a, target := newAltering(t, func(user map[string]any) int {
		if user["locale"] != nil || user["title"] != nil {
			return 400
		}
		return deriveDisplayName(user)
	})
	c := runChecks(t, target, conformance.Options{Checks: []conformance.Check{storesDisplayName("patch", "userType", "nickName")}}).Checks[0]
	require.Equal(t, conformance.Skip, c.Outcome, "title is rejected: no attribute is left")
	c = runChecks(t, target, conformance.Options{Checks: []conformance.Check{storesDisplayName("patch", "userType")}}).Checks[0]
	require.Equal(t, conformance.Pass, c.Outcome, c.Reason)
	require.Contains(t, c.Notes, "run with nickName in place of displayName: the target derives displayName")
	require.Empty(t, a.users)
}
