package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// TestAttributes_AppliedToCreatedObjects checks that created objects have the attributes and the user domain of the options, unless the
// check sets its own.
func TestAttributes_AppliedToCreatedObjects(t *testing.T) {
	_, target := newShelf(t)
	var sent conformance.Doc
	runChecks(t, target, conformance.Options{
		UserDomain: "corp.test",
		Attributes: map[string]conformance.Doc{"User": {"userType": "contractor", "title": "Tester"}, "Group": {"externalId": "g"}},
		Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
			sent = t.CreateUser(ctx, "ann", conformance.Doc{"title": "of the check", "active": conformance.Omit}).Sent
			t.CreateGroup(ctx, "crew", nil)
		})},
	})
	require.Equal(t, []any{"contractor", "of the check", nil}, []any{sent["userType"], sent["title"], sent["active"]})
	require.Regexp(t, `^scimconf-[a-z0-9]{8}-1-ann@corp\.test$`, sent["userName"])
	require.Equal(t, sent["userName"], sent["emails"].([]conformance.Doc)[0]["value"])
}

func TestResourceTypes_LimitRun(t *testing.T) {
	_, target := newShelf(t)
	checks := []conformance.Check{
		one("x.users", []conformance.Need{conformance.NeedUser}, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }),
		one("x.groups", []conformance.Need{conformance.NeedGroup}, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Groups") }),
	}
	r := runChecks(t, target, conformance.Options{ResourceTypes: []string{"user"}, Checks: checks})
	require.Equal(t, []conformance.Outcome{conformance.Pass, conformance.Skip},
		[]conformance.Outcome{r.Checks[0].Outcome, r.Checks[1].Outcome})
	require.Contains(t, r.Checks[1].Reason, "limited to other resource types")
	r = runChecks(t, target, conformance.Options{ResourceTypes: []string{"Group"}, Checks: checks})
	require.Contains(t, strings.Join(r.Cautions, " "), "the run was limited to other resource types than User")
	require.NotContains(t, strings.Join(r.Cautions, " "), "serves no users")
	r = runChecks(t, target, conformance.Options{ResourceTypes: []string{"Printer"}, Checks: checks})
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "none of the resource types that the run is limited to (Printer)")
}

func TestAuthorize_CalledPerRequest(t *testing.T) {
	s, target := newShelf(t)
	var asked atomic.Int64
	target.Token = ""
	target.Authorize = func(context.Context) (string, error) { return fmt.Sprintf("Bearer token-number-%d", asked.Add(1)), nil }
	s.refuse = func(r *http.Request) int {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-number-") {
			return 401
		}
		return 0
	}
	checks := []conformance.Check{one("x.y", []conformance.Need{conformance.NeedCredentials}, func(ctx context.Context, t *conformance.T) {
		t.Expect("without", 401,
			t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.WithoutCredentials()}).Status)
		t.Expect("with", 200, t.Get(ctx, "/Users").Status)
	})}
	r := runChecks(t, target, conformance.Options{Record: true, Checks: checks})
	require.Equal(t, conformance.Clean, r.Verdict, r.Reason)
	require.NotContains(t, dump(t, r), "token-number")

	target.Authorize = func(context.Context) (string, error) {
		return "", errors.New("the token endpoint returns 400 invalid_client")
	}
	r = runChecks(t, target, conformance.Options{Checks: checks})
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "invalid_client")
}

// TestRecord_ContainsAllTraffic checks that the result contains every exchange with Record, and none without it.
func TestRecord_ContainsAllTraffic(t *testing.T) {
	s, target := newShelf(t)
	checks := []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
		t.CreateUser(ctx, "ann", nil)
		t.CallConcurrently(ctx, conformance.Request{Method: "GET", Path: "/Users"}, conformance.Request{Method: "GET", Path: "/Groups"})
	})}
	require.Empty(t, runChecks(t, target, conformance.Options{Checks: checks}).Traffic)
	s.requests = nil
	r := runChecks(t, target, conformance.Options{Checks: checks, Record: true})
	require.Len(t, r.Traffic, r.Requests)
	require.Len(t, s.requests, r.Requests)
	var of []string
	for _, sent := range r.Traffic {
		if sent.Check == "x.y" {
			of = append(of, sent.Exchange.Method)
		}
	}
	require.Equal(t, []string{"POST", "GET", "GET", "DELETE"}, of)
}
