package conformance_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// dump returns the text of everything that a result contains.
func dump(t *testing.T, r *conformance.Result) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(r.Reason + strings.Join(r.Cautions, "\n"))
	for _, c := range r.Checks {
		b.WriteString(c.Reason + strings.Join(c.Notes, "\n"))
		for _, f := range c.Findings {
			exchange, err := json.Marshal(f.Exchange)
			require.NoError(t, err)
			b.WriteString(f.What + f.Want + f.Got + string(exchange))
		}
	}
	for _, sent := range r.Traffic {
		exchange, err := json.Marshal(sent.Exchange)
		require.NoError(t, err)
		b.Write(exchange)
	}
	return b.String()
}

// TestResult_RedactsUserData checks that a result shows the structure of foreign resources, and never their values.
func TestResult_RedactsUserData(t *testing.T) {
	s, target := newShelf(t)
	s.objects["/Users/42"] = map[string]any{
		"id": "42", "userName": "grace.hopper@corp.test", "name": map[string]any{"givenName": "Grace", "familyName": "Hopper"}, "active": true,
		"emails":  []any{map[string]any{"value": "grace@home.test", "type": "home"}},
		"urn:x:y": map[string]any{"badge": "B-1906"}, "meta": map[string]any{"resourceType": "User"}, "nickName": "Gr\"ace",
	}
	s.objects["/Groups/7"] = map[string]any{"id": "7", "displayName": "Admirals of the fleet",
		"members": []any{map[string]any{"value": "0123456789abcdef0123", "display": "Grace Hopper"}}}
	r := runChecks(t, target, conformance.Options{Record: true, Checks: []conformance.Check{
		one("x.early", nil, func(ctx context.Context, t *conformance.T) {
			t.Note("a user is named grace.hopper@corp.test")
			t.Get(ctx, "/Users", "filter", `userName eq "grace.hopper@corp.test"`)
		}),
		one("x.list", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", conformance.Doc{"password": "pass-of-the-check-1906"})
			for _, path := range []string{"/Users", "/Groups"} {
				for _, o := range t.Get(ctx, path).Resources() {
					t.Expect("a resource of "+path, "nothing", o)
					t.Expect("its name", "nothing", o.Text("userName")+o.Text("displayName"))
				}
			}
			t.Expect("the password", "nothing", "pass-of-the-check-1906")
		}),
	}})
	require.Len(t, r.Checks[1].Findings, 9, "two foreign users, one of the run, a group, and the password")
	all := dump(t, r)
	for _, secret := range []string{"grace", "Grace", "Hopper", "B-1906", "Admirals", "other@example.com", "pass-of-the-check",
		"very-secret-token"} {
		require.NotContains(t, all, secret)
	}
	require.Contains(t, all, "-2-ann@example.com", "values that the suite generated stay readable")
	require.Contains(t, all, "0123456789abcdef0123", "ids stay readable, so that requests can be repeated")
	require.Contains(t, all, conformance.Masked)
}

// TestResult_ShowsOwnUserWithoutMarker checks that the values of a user of the run stay readable in a response without the marker.
func TestResult_ShowsOwnUserWithoutMarker(t *testing.T) {
	s, target := newShelf(t)
	r := runChecks(t, target, conformance.Options{Record: true, Checks: []conformance.Check{
		one("x.part", writes, func(ctx context.Context, t *conformance.T) {
			u := t.CreateUser(ctx, "ann", nil)
			s.mu.Lock()
			s.objects[u.Path()] = map[string]any{"id": u.ID, "name": map[string]any{"familyName": "Lovelace"}}
			s.objects["/Groups/"+u.ID] = map[string]any{"id": u.ID, "displayName": "Admirals of the fleet"}
			s.mu.Unlock()
			t.Expect("the name", "Babbage", t.Get(ctx, u.Path()).Object().Complex("name").Text("familyName"))
			t.Get(ctx, "/Groups/"+u.ID)
		}),
	}})
	require.Equal(t, "Lovelace", r.Checks[0].Findings[0].Got)
	all := dump(t, r)
	require.NotContains(t, all, conformance.Masked+"\"},\"id", "the body of the user")
	require.Contains(t, all, conformance.Masked)
	require.NotContains(t, all, "Admirals", "the id of a user does not make a group readable")
}

// TestResult_ShowsSentValues checks that the values which the suite has sent stay readable in a resource without the marker and with an
// unknown id, and in findings. Foreign values are masked only as whole words.
func TestResult_ShowsSentValues(t *testing.T) {
	s, target := newShelf(t)
	s.objects["/Users/43"] = map[string]any{"id": "43", "nickName": "member", "title": "Lady Byron", "displayName": "Ada Lovelace",
		"name": map[string]any{"familyName": "Lovelace", "givenName": "Ada"}}
	r := runChecks(t, target, conformance.Options{Record: true, Checks: []conformance.Check{
		one("x.part", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ada", conformance.Doc{"name": conformance.Doc{"familyName": "Lovelace", "givenName": "Ada"}})
			o := t.Get(ctx, "/Users/43").Object()
			t.Expect("the members of the list", "nothing", o.Text("displayName"))
			t.Expect("title", "nothing", o.Text("title"))
		}),
	}})
	require.Len(t, r.Checks[0].Findings, 2)
	require.Contains(t, r.Checks[0].Findings[0].What, "the members of the list")
	require.Contains(t, r.Checks[0].Findings[0].Got, "Ada Lovelace", "the target composed it from values that the suite has sent")
	require.Contains(t, r.Checks[0].Findings[1].Got, conformance.Masked)
	all := dump(t, r)
	require.Contains(t, all, `\"familyName\":\"Lovelace\"`)
	require.NotContains(t, all, "Byron")
}
