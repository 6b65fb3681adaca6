package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/report"
)

// inactivePair is a check whose fixture has one inactive user with two email addresses.
func inactivePair(run func(ctx context.Context, t *conformance.T)) conformance.Check {
	check := one("x.pair", writes, run)
	check.Fixture = &conformance.Fixture{Name: "pair", Build: func(ctx context.Context, t *conformance.T) map[string]*conformance.Created {
		return map[string]*conformance.Created{"ann": t.CreateUser(ctx, "ann", conformance.Doc{"active": false, "nickName": "Nan",
			"emails": []conformance.Doc{{"value": "one@example.com"}, {"value": "two@example.com"}}})}
	}}
	return check
}

// rejectingPosts returns an alter function that rejects new users for which bad returns true.
func rejectingPosts(bad func(user map[string]any) bool) func(map[string]any) int {
	known := map[any]bool{}
	return func(user map[string]any) int {
		if !known[user["id"]] && bad(user) {
			return 400
		}
		known[user["id"]] = true
		return 0
	}
}

// TestReduced_MembersSetAfterwards checks that members with which a target rejects a create are set by an update.
func TestReduced_MembersSetAfterwards(t *testing.T) {
	rejections := map[string]func(user map[string]any) bool{
		"inactive": func(user map[string]any) bool { return user["active"] == false },
		"two email addresses": func(user map[string]any) bool {
			list, _ := user["emails"].([]any)
			return len(list) > 1
		},
		"nickName": func(user map[string]any) bool { return user["nickName"] != nil },
		"two members together": func(user map[string]any) bool {
			return user["nickName"] != nil || user["active"] == false
		},
		"every optional member": func(user map[string]any) bool { return len(user) > 3 },
	}
	for name, bad := range rejections {
		t.Run(name, func(t *testing.T) {
			a, target := newAltering(t, rejectingPosts(bad))
			r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{inactivePair(func(ctx context.Context, t *conformance.T) {
				ann := t.Fixture["ann"]
				o := t.Read(ctx, ann.Path()).Object()
				active, _ := o.Get("active")
				t.Expect("active", false, active)
				t.Expect("number of email addresses", 2, len(o.Array("emails")))
				t.Expect("nickName", "Nan", o.Text("nickName"))
				t.Expect("lacks", false, ann.Lacks("active") || ann.Lacks("emails") || ann.Lacks("nickName"))
				t.Expect("updated", true, ann.Updated())
			})}})
			require.Equal(t, conformance.Pass, r.Checks[0].Outcome, fmt.Sprint(r.Checks[0].Reason, r.Checks[0].Findings))
			require.Empty(t, a.users)
			require.Less(t, r.Requests, 40)
		})
	}
}

// TestReduced_LacksRejectedMember checks that the object of a fixture is created without a member that the target always rejects.
func TestReduced_LacksRejectedMember(t *testing.T) {
	a, target := newAltering(t, func(user map[string]any) int {
		if user["nickName"] != nil || user["locale"] != nil {
			return 400
		}
		return 0
	})
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		inactivePair(func(_ context.Context, t *conformance.T) {
			ann := t.Fixture["ann"]
			t.Expect("nickName is lacking", true, ann.Lacks("NICKNAME"))
			t.Expect("active is lacking", false, ann.Lacks("active"))
			t.Expect("nickName was wanted", "Nan", ann.Sent["nickName"])
		}),
		one("x.own", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "own", conformance.Doc{"locale": "en-US"})
		}),
	}})
	require.Equal(t, conformance.Pass, r.Checks[0].Outcome, fmt.Sprint(r.Checks[0].Reason, r.Checks[0].Findings))
	require.Contains(t, strings.Join(r.Checks[0].Notes, "\n"), "lack nickName")
	require.Equal(t, conformance.Skip, r.Checks[1].Outcome, "the user of a check has every member that the check sets")
	require.NotNil(t, r.Checks[1].BlockedBy)
	require.Contains(t, r.Checks[1].BlockedBy.What, "without locale")
	require.Equal(t, 400, r.Checks[1].BlockedBy.Exchange.Status)
	require.Empty(t, a.users)
}

// TestReduced_RepeatedType checks that the reason of a blocked check names what the target rejects: two email addresses of one type.
func TestReduced_RepeatedType(t *testing.T) {
	_, target := newAltering(t, func(user map[string]any) int {
		seen := map[any]bool{}
		list, _ := user["emails"].([]any)
		for _, e := range list {
			kind := e.(map[string]any)["type"]
			if seen[kind] {
				return 400
			}
			seen[kind] = true
		}
		return 0
	})
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("x.typed", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "typed", conformance.Doc{"emails": []conformance.Doc{{"value": "one@example.com", "type": "work"},
				{"value": "two@example.com", "type": "work"}, {"value": "three@example.com", "type": "home"}}})
		}),
	}})
	require.Equal(t, conformance.Skip, r.Checks[0].Outcome)
	require.Contains(t, r.Checks[0].BlockedBy.What, "only without two elements of emails with the type work")
}

// TestReduced_PlainUsersLearned checks that the run omits a default member with which the target creates no user, after one search.
func TestReduced_PlainUsersLearned(t *testing.T) {
	a, target := newAltering(t, func(user map[string]any) int {
		if user["emails"] != nil {
			return 400
		}
		return 0
	})
	posts := func(ctx context.Context, t *conformance.T) {
		t.Expect("status", 201, t.Post(ctx, "/Users", t.User("plain", nil)).Status)
		t.CreateUser(ctx, "own", conformance.Doc{"displayName": "Own"})
	}
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{one("x.a", writes, posts), one("x.b", writes, posts),
		one("x.c", writes, posts)}})
	for _, c := range r.Checks {
		require.Equal(t, conformance.Pass, c.Outcome, fmt.Sprint(c.Reason, c.Findings))
	}
	require.Contains(t, strings.Join(r.Cautions, "\n"), "rejects plain users with emails")
	require.LessOrEqual(t, r.Checks[2].Requests, 4, "the third check sends no rejected request")
	require.Empty(t, a.users)
}

// TestReduced_BoundedRequests checks that a target that creates no user is not sent every form of every user.
func TestReduced_BoundedRequests(t *testing.T) {
	a, target := newAltering(t, func(map[string]any) int { return 400 })
	var checks []conformance.Check
	for i := range 20 {
		checks = append(checks, one(fmt.Sprint("x.c", i), writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "u", conformance.Doc{"nickName": "Nan", "title": "T", "active": false})
		}))
	}
	r := runChecks(t, target, conformance.Options{Checks: checks})
	require.Less(t, a.posts, 20+3*12+10+60)
	require.Len(t, r.Blocks, 1)
	require.Len(t, r.Blocks[0].Checks, 20)
	require.NotEqual(t, conformance.Clean, r.Verdict)
}

// TestBlocks_FirstInReports checks that a fixture that blocks more than five checks makes the run not clean, and precedes the findings of
// every report.
func TestBlocks_FirstInReports(t *testing.T) {
	s, target := newShelf(t)
	s.refuse = func(r *http.Request) int {
		if r.Method == http.MethodPost && r.URL.Path == "/Groups" {
			return 400
		}
		return 0
	}
	check := one("x.blocked", writes, func(context.Context, *conformance.T) {})
	check.Fixture = &conformance.Fixture{Name: "crew", Build: func(ctx context.Context, t *conformance.T) map[string]*conformance.Created {
		return map[string]*conformance.Created{"crew": t.CreateGroup(ctx, "crew", nil)}
	}}
	passes := one("x.passes", writes, func(ctx context.Context, t *conformance.T) { t.CreateUser(ctx, "u", nil) })
	warns := one("x.finds", nil, func(ctx context.Context, t *conformance.T) {
		t.Get(ctx, "/Users")
		t.Inform("the finding", "one", "two")
	})
	run := func(n int) *conformance.Result {
		checks := []conformance.Check{passes, warns}
		for range n {
			checks = append(checks, check)
		}
		return runChecks(t, target, conformance.Options{Checks: checks})
	}
	r := run(conformance.ManyBlocked)
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "6 checks blocked")
	require.Len(t, r.Blocks, 1)
	require.Equal(t, 400, r.Blocks[0].Exchange.Status)
	require.Contains(t, strings.Join(r.Cautions, "\n"), "6 applicable checks blocked")
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return report.Text(b, r, report.TextOptions{}) },
		"markdown": func(b *bytes.Buffer) error { return report.Markdown(b, r, "") },
		"html":     func(b *bytes.Buffer) error { return report.HTML(b, r, "") },
		"json":     func(b *bytes.Buffer) error { return report.JSON(b, r, "") },
	} {
		var b bytes.Buffer
		require.NoError(t, write(&b), name)
		at := strings.Index(b.String(), "the fixture crew: POST /Groups")
		require.GreaterOrEqual(t, at, 0, "%s names the block", name)
		if finding := strings.Index(b.String(), "the finding"); finding >= 0 {
			require.Less(t, at, finding, "%s shows the block first", name)
		}
	}
	require.Equal(t, conformance.Clean, run(conformance.ManyBlocked-1).Verdict)
}
