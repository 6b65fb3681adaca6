package plan_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scim"
)

// body returns a response.
func body(t *testing.T, status int, text string) plan.Response {
	t.Helper()
	r := plan.Response{Status: status}
	if text != "" {
		var err error
		r.Body, err = scim.Decode([]byte(text))
		require.NoError(t, err)
	}
	return r
}

// script returns responses. A line is "status body", with "etag=..." or "after=..." before the body, or "page=..." instead of it; "lost" is
// no response.
func script(t *testing.T, lines ...string) []plan.Response {
	t.Helper()
	var out []plan.Response
	for _, line := range lines {
		if line == "lost" {
			out = append(out, plan.Response{Err: errors.New("connection reset")})
			continue
		}
		var status int
		_, err := fmt.Sscan(line, &status)
		require.NoError(t, err, line)
		rest := strings.TrimSpace(line[3:])
		var etag, after string
		if v, ok := strings.CutPrefix(rest, "etag="); ok {
			etag, rest, _ = strings.Cut(v, " ")
		}
		if v, ok := strings.CutPrefix(rest, "after="); ok {
			after, rest, _ = strings.Cut(v, " ")
		}
		var page string
		if v, ok := strings.CutPrefix(rest, "page="); ok {
			page, rest = v, ""
		}
		r := body(t, status, rest)
		r.ETag, r.RetryAfter, r.Page = etag, after, page
		out = append(out, r)
	}
	return out
}

// transcript runs a sequence with the responses.
func transcript(t *testing.T, s *plan.Sequence, answers []plan.Response) string {
	t.Helper()
	var b strings.Builder
	step := s.Step()
	var replaced bool
	var added, removed []engine.RemoteMember
	for {
		if c := step.Acked; c != nil {
			if c.Replace {
				replaced, added, removed = true, nil, nil
			}
			added, removed = append(added, c.Add...), append(removed, c.Remove...)
		}
		if step.Request == nil {
			break
		}
		r := step.Request
		fmt.Fprintf(&b, "%s %s\n", r.Method, r.Path)
		if r.Alternative != nil {
			fmt.Fprintf(&b, "instead: %s\n", r.Alternative)
		}
		require.Equal(t, r.Method == http.MethodGet, r.Op == "", "every write has an operation")
		if r.IfMatch != "" {
			fmt.Fprintf(&b, "If-Match: %s\n", r.IfMatch)
		}
		if r.Body != nil {
			fmt.Fprintf(&b, "%s\n", r.Body.AppendJSON(nil))
		}
		require.NotEmpty(t, answers, "a response for %s %s", r.Method, r.Path)
		fmt.Fprintf(&b, "  -> %d\n", answers[0].Status)
		step = s.Feed(answers[0])
		answers = answers[1:]
	}
	require.Empty(t, answers, "all responses were used")
	o := step.Outcome
	fmt.Fprintf(&b, "= %s %s id=%q origin=%q status=%d", o.Class, o.Operation, o.RemoteID, o.Origin, o.Status)
	if o.RetryAfter != "" {
		fmt.Fprintf(&b, " after=%s", o.RetryAfter)
	}
	if replaced || added != nil || removed != nil {
		fmt.Fprintf(&b, " replaced=%v added=%v removed=%v", replaced, added, removed)
	}
	if o.Learned != nil {
		fmt.Fprintf(&b, " learned=%v", o.Learned)
	}
	for _, path := range slices.Sorted(maps.Keys(o.IgnoredAttributes)) {
		if n := o.IgnoredAttributes[path].Rounds; n > 0 {
			fmt.Fprintf(&b, " ignored=%s/%d", path, n)
		}
	}
	if o.PasswordVersion != "" {
		fmt.Fprintf(&b, " password=%s", o.PasswordVersion)
	}
	if o.Batch != 0 {
		fmt.Fprintf(&b, " batch=%d", o.Batch)
	}
	if o.MembersUnknown {
		b.WriteString(" membersUnknown")
	}
	if o.Message != "" {
		fmt.Fprintf(&b, "\n  %s", o.Message)
	}
	require.Equal(t, step, s.Feed(plan.Response{Status: 200}), "a response after the outcome has no effect")
	return b.String() + "\n"
}

func golden(t *testing.T, got string) {
	t.Helper()
	file := filepath.Join("testdata", strings.ReplaceAll(t.Name(), " ", "_")+".txt")
	goldentest.Check(t, file, got)
}

const (
	missing = `404 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404","detail":"nobody"}`
	none    = `200 {"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`
	one     = `200 {"totalResults":"1","Resources":[{"id":"r1","userName":"ANN","externalId":"other"}]}`
	ours    = `200 {"totalResults":1,"Resources":[{"id":"r1","userName":"ann","externalId":"u-1"}]}`
	two     = `200 {"totalResults":2,"Resources":[{"id":"r1","userName":"ann"},{"id":"r2","userName":"ann"}]}`
	same    = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"r1","userName":"ann","name":{"givenName":"Ann",` +
		`"formatted":"Ann Q"},"emails":[{"value":"a@x","type":"work","primary":true,"display":"a"}],"externalId":"u-1","nick":"kept",` +
		`"active":true}`
	differs = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"r1","userName":"old","name":{"givenName":"A","formatted":"A ` +
		`Q"},"nick":"kept","active":true,"meta":{"version":"W/\"3\""}}`
	asleep = `{"id":"r1","schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ann","name":{"givenName":"Ann"},` +
		`"emails":[{"value":"a@x","type":"work","primary":true}],"externalId":"u-1","active":"False"}`
)

func ann(t *testing.T) plan.UserInput {
	t.Helper()
	r, err := scim.DecodeResource([]byte(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ann",` +
		`"name":{"givenName":"Ann"},"emails":[{"primary":true,"value":"a@x","type":"work"}],"externalId":"u-1"}`))
	require.NoError(t, err)
	return plan.UserInput{
		Want: engine.Active, UserName: "ann", Resource: r, Password: "placeholder", Create: true, Update: true, Deactivate: true,
		Traits: engine.Traits{engine.PatchTrusted: true, engine.PutTrusted: true},
	}
}

func TestUser(t *testing.T) {
	theirs := func(string) (string, error) { return "u-2", nil }
	known := func(in *plan.UserInput) { in.RemoteID, in.Origin, in.MayExist = "r1", engine.Created, true }
	assignedAgain := func(in *plan.UserInput) { known(in); in.Activating = true }
	inactive := func(in *plan.UserInput) { known(in); in.Want = engine.Inactive }
	wizard := func(f func(*plan.UserInput)) func(*plan.UserInput) {
		return func(in *plan.UserInput) { f(in); in.Style = engine.Wizard }
	}
	password := func(in *plan.UserInput) {
		known(in)
		in.SyncPassword, in.PasswordVersion, in.HasPassword = true, "2", "1"
	}
	fresh := func(*plan.UserInput) {}
	with := func(f func(*plan.UserInput), traits ...engine.Trait) func(*plan.UserInput) {
		return func(in *plan.UserInput) {
			f(in)
			for _, t := range traits {
				in.Traits[t] = true
			}
		}
	}
	wary := func(f func(*plan.UserInput)) func(*plan.UserInput) {
		return func(in *plan.UserInput) { f(in); in.Traits = nil }
	}
	dormant := strings.Replace(differs, `"active":true`, `"active":false`, 1)
	nameless := strings.Replace(same, `"name":{"givenName":"Ann","formatted":"Ann Q"},`, `"name":{"formatted":"Q"},`, 1)
	dropped := func(rounds int) func(*plan.UserInput) {
		return func(in *plan.UserInput) {
			known(in)
			in.IgnoredAttributes = map[string]engine.IgnoredAttribute{}
			for range rounds { // earlier sequences, in which the target ignores the attribute
				s := plan.User(*in)
				for s.Step().Request != nil {
					s.Feed(script(t, `200 `+nameless)[0])
				}
				in.IgnoredAttributes = s.Step().Outcome.IgnoredAttributes
			}
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(*plan.UserInput)
		answers []string
	}{
		{"create after an empty list", fresh, []string{none, `201 {"id":"r1"}`}},
		{"create after a 404", fresh, []string{missing, `201 {"id":"r1"}`}},
		{"a 404 that is not a SCIM error", fresh, []string{`404 {"detail":"Not Found"}`}},
		{"a 404 without a body", fresh, []string{`404`}},
		{"a 404 with a page", fresh, []string{`404 page=text/html`}},
		{"a 404 with a page to a read", known, []string{`404 page=text/html`}},
		{"a 404 with a page to a deactivation", inactive, []string{`404 page=text/html`, `404 page=text/html`}},
		{"deactivate where PATCH returns 404 with a page", inactive,
			[]string{`404 page=text/html`, `200 ` + same, `200 ` + same, `200 ` + asleep}},
		{"create with a quoted name", func(in *plan.UserInput) { in.UserName = `a"b\c d+é` }, []string{none, `201 {"id":"r1"}`}},
		{"empty 201", fresh, []string{none, `201`}},
		{"201 without an id", fresh, []string{none, `201 {}`}},
		{"create is disabled", func(in *plan.UserInput) { in.Create = false }, []string{none}},
		{"create without a response", fresh, []string{none, "lost"}},
		{"create is rejected", fresh, []string{none, `400 {"scimType":"invalidValue","detail":"no emails","status":400}`, none}},
		{"create is rejected with 400, and the account exists", fresh,
			[]string{none, `400 {"detail":"name taken"}`, one, `200 ` + same}},
		{"link and update", fresh, []string{one, `200 ` + differs, `200 {}`}},
		{"assigned again, and the account exists", assignedAgain, []string{ours, `200 ` + same}},
		{"assigned again, only creating is enabled", func(in *plan.UserInput) { assignedAgain(in); in.Update, in.Deactivate = false, false },
			[]string{ours, `200 ` + same}},
		{"assigned again, only creating is enabled, and the account is inactive",
			func(in *plan.UserInput) { assignedAgain(in); in.Update, in.Deactivate = false, false },
			[]string{ours, `200 ` + asleep, `204`}},
		{"link of an inactive account that is not activated", func(in *plan.UserInput) { in.Update, in.Deactivate = false, false },
			[]string{one, `200 ` + asleep, `500`}},
		{"link of an inactive account that is not activated by PUT", wizard(func(in *plan.UserInput) { in.Update, in.Deactivate = false, false }),
			[]string{one, `200 ` + asleep, `500`}},
		{"update of an inactive account where only updating is on",
			func(in *plan.UserInput) { known(in); in.Create, in.Deactivate = false, false },
			[]string{`200 ` + dormant, `204`, `200 ` + same}},
		{"update by PUT of an inactive account where only updating is on",
			wizard(func(in *plan.UserInput) { known(in); in.Create, in.Deactivate = false, false }),
			[]string{`200 ` + dormant, `200 ` + same}},
		{"an inactive account where only updating is on, and nothing differs",
			func(in *plan.UserInput) { known(in); in.Create, in.Deactivate = false, false },
			[]string{`200 ` + asleep}},
		{"password by PUT of an inactive account where only passwords are synced", wizard(func(in *plan.UserInput) {
			password(in)
			in.Create, in.Update, in.Deactivate = false, false, false
		}), []string{`200 ` + asleep, `200 ` + same}},
		{"assigned again, and the account is missing", assignedAgain, []string{none, none, `201 {"id":"r2"}`}},
		{"link to our own account", fresh, []string{ours, `200 ` + same}},
		{"an account of another user is not linked", func(in *plan.UserInput) { in.Owner = theirs }, []string{one}},
		{"an account of another user is not deactivated", func(in *plan.UserInput) { inactive(in); in.Owner = theirs }, nil},
		{"an account of another user is not deactivated after a lost create", func(in *plan.UserInput) {
			in.Want, in.MayExist, in.Owner = engine.Absent, true, theirs
		}, []string{ours}},
		{"owner unknown", func(in *plan.UserInput) {
			inactive(in)
			in.Owner = func(string) (string, error) { return "", errors.New("no database") }
		}, nil},
		{"link only", func(in *plan.UserInput) { in.Update, in.Deactivate = false, false }, []string{one, `200 ` + same}},
		{"an existing account requires a decision", func(in *plan.UserInput) { in.OnExisting = engine.LinkAsk }, []string{one}},
		{"our own account requires no decision", func(in *plan.UserInput) { in.OnExisting = engine.LinkAsk }, []string{ours, `200 ` + same}},
		{"an existing account is rejected", func(in *plan.UserInput) { in.OnExisting = engine.LinkNever }, []string{one}},
		{"409 for an account that must not be linked", func(in *plan.UserInput) { in.OnExisting = engine.LinkNever },
			[]string{none, `409 {"detail":"exists"}`, one}},
		{"several hits are held", fresh, []string{two}},
		{"a hit without an id", fresh, []string{`200 {"totalResults":1,"Resources":[{"userName":"ann"}]}`}},
		{"an unrelated account in the list is not adopted", fresh,
			[]string{`200 {"totalResults":1,"Resources":[{"id":"x","userName":"bob"}]}`, `201 {"id":"r1"}`}},
		{"a lookup that returns no list", fresh, []string{`200 {}`}},
		{"409 then link by name", fresh, []string{none, `409 {"detail":"exists"}`, one, `200 ` + same}},
		{"409 then link by externalId", fresh, []string{none, `409 {"detail":"exists"}`, none, ours, `200 ` + same}},
		{"400 uniqueness is a conflict too", fresh, []string{none, `400 {"scimType":"uniqueness"}`, ours, `200 ` + same}},
		{"409 and no account found", fresh, []string{none, `409 {"detail":"exists"}`, none, none}},
		{"update", known, []string{`200 etag=W/"7" ` + differs, `200 {}`}},
		{"update with the version of meta", known, []string{`200 ` + differs, `204`}},
		{"nothing changed", known, []string{`200 ` + same}},
		{"update after 412", known, []string{`200 etag="1" ` + differs, `412`, `200 etag="2" ` + differs, `200 {}`}},
		{"update that always meets 412", known, []string{`200 ` + differs, `412`, `200 ` + differs, `412`, `200 ` + differs, `412`}},
		{"another id is returned", known, []string{`200 {"id":"r9"}`}},
		{"missing and created again", known, []string{`404`, none, none, `201 {"id":"r2"}`}},
		{"missing, and found by our own identifier", known,
			[]string{`404`, none, `200 {"Resources":[{"id":"r2","userName":"anna","externalId":"u-1"}]}`, `200 {"id":"r2"}`, `200 {}`}},
		{"missing, and found under another id", known,
			[]string{`404`, `200 {"Resources":[{"id":"r2","userName":"ann"}]}`, `200 {"id":"r2"}`, `200 {}`}},
		{"missing but still listed", known, []string{`404`, one}},
		{"missing and reported", func(in *plan.UserInput) { known(in); in.OnMissing = engine.Fail }, []string{`404`}},
		{"reactivate by PATCH", known, []string{`200 ` + asleep, `204`}},
		{"reactivate by PUT", wizard(known), []string{`200 etag="4" ` + asleep, `200 {}`}},
		{"deactivate by PATCH", inactive, []string{`204`}},
		{"deactivate by PUT", wizard(inactive), []string{`200 etag="4" ` + same, `200 {}`}},
		{"deactivate an inactive account by PUT", wizard(inactive), []string{`200 ` + asleep}},
		{"deactivate where PATCH is unsupported", inactive, []string{`501`, `200 ` + same, `200 {}`}},
		{"deactivate a missing account", inactive, []string{missing, missing}},
		{"deactivate a missing account, 404 without a SCIM error", inactive, []string{`404`, `404`, none}},
		{"deactivate where no response is SCIM", inactive,
			[]string{`404 {"detail":"Not Found"}`, `404 {"detail":"Not Found"}`, `404 {"detail":"Not Found"}`}},
		{"deactivate a listed account that returns 404", inactive, []string{`404`, `404`, ours}},
		{"deactivate where PATCH returns 404", inactive, []string{`404`, `200 ` + same, `200 ` + same, `200 ` + asleep}},
		{"deactivate an inactive account where PATCH returns 404", inactive, []string{`404`, `200 ` + asleep}},
		{"reactivate where PATCH returns 404", known, []string{`200 ` + asleep, `404`, `200 ` + asleep, `200 ` + same}},
		{"update where PUT returns 404", known, []string{`200 ` + differs, `404`, `200 ` + differs, `200 ` + same}},
		{"deactivate a missing account by PUT", wizard(inactive), []string{missing}},
		{"deactivate after a lost create", func(in *plan.UserInput) { in.Want, in.MayExist = engine.Absent, true }, []string{ours, `204`}},
		{"deactivate after a create that was not carried out", func(in *plan.UserInput) { in.Want, in.MayExist = engine.Absent, true },
			[]string{none, none}},
		{"deactivate a user that was never assigned", func(in *plan.UserInput) { in.Want = engine.Absent }, nil},
		{"renamed after a lost create", func(in *plan.UserInput) { in.MayExist, in.EarlierName = true, "anna" },
			[]string{none, `200 {"Resources":[{"id":"r1","userName":"anna","externalId":"u-1"}]}`, `200 ` + same}},
		{"renamed twice after a lost create", func(in *plan.UserInput) { in.MayExist = true },
			[]string{none, `200 {"Resources":[{"id":"r1","userName":"annabel","externalId":"u-1"}]}`, `200 ` + same}},
		{"renamed after a lost create where externalId cannot be filtered",
			func(in *plan.UserInput) { in.MayExist, in.EarlierName = true, "anna" },
			[]string{none, `400 {"scimType":"invalidFilter"}`, `200 {"Resources":[{"id":"r1","userName":"anna","externalId":"u-1"}]}`,
				`200 ` + same}},
		{"created again after a lost create that was not carried out", func(in *plan.UserInput) { in.MayExist = true },
			[]string{none, none, `201 {"id":"r1"}`}},
		{"a failed lookup by externalId is retried", func(in *plan.UserInput) { in.MayExist = true }, []string{none, `503`}},
		{"kept unchanged", func(in *plan.UserInput) { in.Want, in.RemoteID = engine.Keep, "r1" }, nil},
		{"the earlier name belongs to another user", func(in *plan.UserInput) { in.MayExist, in.EarlierName = true, "anna" },
			[]string{none, none, `200 {"Resources":[{"id":"r9","userName":"anna","externalId":"u-9"}]}`, `201 {"id":"r1"}`}},
		{"deactivate is disabled", func(in *plan.UserInput) { inactive(in); in.Deactivate = false }, nil},
		{"throttled", inactive, []string{`429 after=7 {"detail":"slow down"}`}},
		{"503 with Retry-After", inactive, []string{`503 after=7`}},
		{"503", inactive, []string{`503`}},
		{"denied", inactive, []string{`401 {"detail":"who are you"}`}},

		{"deactivate where PATCH needs a path", inactive, []string{`400 {"scimType":"invalidPath"}`, `204`}},
		{"deactivate where PATCH is known to need a path", with(inactive, engine.NeedsPath), []string{`204`}},
		{"deactivate where PATCH no longer needs a path", with(inactive, engine.NeedsPath), []string{`400`, `204`}},
		{"deactivate where every PATCH is rejected", inactive, []string{`400 {"detail":"no"}`, `400`, `200 ` + same, `200 ` + asleep}},
		{"deactivate where PATCH is known to be unsupported", with(inactive, engine.NoPatch), []string{`200 ` + same, `200 ` + asleep}},
		{"deactivate where there is no PUT", wizard(inactive), []string{`200 ` + same, `405`, `204`}},
		{"deactivate where nothing works", inactive, []string{`405 {"detail":"not here"}`, `200 ` + same, `405`}},
		{"deactivate without effect by PATCH", inactive,
			[]string{`200 ` + same, `200 ` + same, `200 ` + same, `200 ` + same, `200 ` + same, `200 ` + asleep}},
		{"deactivate with a stale response", inactive, []string{`200 ` + same, `200 ` + asleep}},
		{"deactivate without any effect", inactive,
			[]string{`200 ` + same, `200 ` + same, `200 ` + same, `200 ` + same, `200 ` + same, `200 ` + same, `200 ` + same}},
		{"deactivate with the first empty response", wary(inactive), []string{`204`, `200 ` + asleep}},
		{"deactivate with an empty response and no effect", wary(inactive), []string{`204`, `200 ` + same, `204`, `200 ` + asleep}},
		{"deactivate with an error in a success", inactive,
			[]string{`200 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","detail":"no"}`, `204`}},
		{"update where there is no PUT", known, []string{`200 ` + differs, `405`, `200 ` + same}},
		{"update where PUT is known to be unsupported", with(known, engine.NoPut), []string{`200 ` + differs, `200 ` + same}},
		{"update by PATCH with paths", with(known, engine.NoPut, engine.NeedsPath), []string{`200 ` + differs, `200 ` + same}},
		{"update that clears by PATCH", with(func(in *plan.UserInput) { known(in); in.Resource.Set("nick", nil) }, engine.NoPut),
			[]string{`200 ` + same, `204`}},
		{"update by PUT with the old version and no effect", wary(known),
			[]string{`200 ` + differs, `200 ` + strings.Replace(differs, `"old"`, `"ann"`, 1), `200 ` + differs, `200 ` + same}},
		{"update by PUT with the old version and all the effect", wary(known),
			[]string{`200 etag="1" ` + differs, `200 etag="1" ` + same, `200 ` + same}},
		{"an attribute is dropped", known,
			[]string{`200 ` + differs, `200 ` + strings.Replace(same, `"externalId":"u-1",`, "", 1),
				`200 ` + strings.Replace(same, `"externalId":"u-1",`, "", 1)}},
		{"an attribute is only missing in the response", known, []string{`200 ` + nameless, `200 ` + nameless, `200 ` + same}},
		{"all values of a PUT are dropped", known,
			[]string{`200 ` + nameless, `200 ` + nameless, `200 ` + nameless, `200 ` + nameless, `200 ` + nameless}},
		{"all values of a PUT are dropped, wizard", wizard(known), []string{`200 ` + nameless, `200 ` + nameless, `200 ` + nameless}},
		{"an attribute is dropped by the create", fresh,
			[]string{none, `201 {"id":"r1","userName":"ann","externalId":"u-1","name":{"givenName":"Ann"}}`}},
		{"an attribute is dropped once more", dropped(2), []string{`200 ` + nameless, `200 ` + nameless, `200 ` + nameless}},
		{"a dropped attribute is no longer sent", dropped(3), []string{`200 ` + nameless}},
		{"a dropped attribute with a new value",
			func(in *plan.UserInput) { dropped(3)(in); in.Resource.Complex("name").Set("givenName", "Anna") },
			[]string{`200 ` + nameless, `200 ` + nameless, `200 ` + nameless, `200 ` + nameless, `200 ` + nameless}},
		{"password where PATCH needs a path", password, []string{`200 ` + same, `400 {"scimType":"invalidPath"}`, `204`}},
		{"password where there is no PATCH", password, []string{`200 ` + same, `501`, `200 ` + same, `200 ` + same}},
		{"password where there is no PATCH, and reads are stale", password,
			[]string{`200 ` + differs, `200 ` + same, `501`, `200 ` + differs, `200 ` + same}},
		{"password where PATCH is known to be unsupported", with(password, engine.NoPatch), []string{`200 ` + same, `200 ` + same}},
		{"password where there is no PUT", wizard(password), []string{`200 ` + same, `405`, `204`}},
		{"password that is rejected", password,
			[]string{`200 ` + differs, `200 ` + same, `400 {"detail":"too short"}`, `400`, `200 ` + same, `400 {"detail":"too short"}`}},
		{"password without a response", password, []string{`200 ` + same, "lost"}},
		{"password by PUT after 412", with(password, engine.NoPatch), []string{`200 ` + same, `412`, `200 ` + same, `204`}},
		{"password with an update without effect", wizard(password), []string{`200 ` + nameless, `200 ` + nameless, `200 ` + nameless}},
		{"password of a missing account", password, []string{`404`, none, none, `201 {"id":"r2"}`}},
		{"password with the first empty response", wary(password), []string{`200 ` + same, `204`}},
		{"create with a manager to be cleared", func(in *plan.UserInput) {
			in.Resource.Set(enterprise, scim.NewObject(scim.Member{Name: "manager"}))
		}, []string{none, `201 {"id":"r1"}`}},
		{"manager where there is no PUT", func(in *plan.UserInput) {
			with(known, engine.NoPut)(in)
			in.Resource.AddSchema(enterprise)
			in.Resource.Set(enterprise, scim.NewObject(scim.Member{Name: "manager", Value: scim.NewObject(scim.Member{Name: "value", Value: "r9"})}))
		}, []string{`200 ` + same, `204`}},
		{"lookup without filters", fresh,
			[]string{`400 {"scimType":"invalidFilter"}`, `200 {"totalResults":3,"Resources":[{"id":"r1","userName":"bob"},{"id":"r2"}]}`,
				`200 {"totalResults":3,"Resources":[{"id":"r3","userName":"Ann"}]}`, `200 ` + strings.Replace(same, "r1", "r3", 1)}},
		{"lookup where filters are known not to work", with(fresh, engine.NoUserFilter), []string{none, `201 {"id":"r1"}`}},
		{"lookup in a list that repeats", with(fresh, engine.NoUserFilter),
			[]string{`200 {"totalResults":2,"Resources":[{"id":"r1"}]}`, `200 {"totalResults":2,"Resources":[{"id":"r1"}]}`}},
		{"lookup of an unusual name whose filter is rejected", func(in *plan.UserInput) { in.UserName = `an"n` },
			[]string{`400 {"scimType":"invalidFilter"}`, none, `201 {"id":"r1"}`}},
		{"lookup in a list whose total falls", with(fresh, engine.NoUserFilter),
			[]string{`200 {"totalResults":3,"Resources":[{"id":"r1"}]}`, `200 {"totalResults":2,"Resources":[{"id":"r2"}]}`}},
		{"lookup in a list that grows", with(fresh, engine.NoUserFilter),
			[]string{`200 {"totalResults":2,"Resources":[{"id":"r1"}]}`, `200 {"totalResults":3,"Resources":[{"id":"r2"},{"id":"r3"}]}`,
				`200 {"totalResults":4,"Resources":[{"id":"r1"},{"id":"r2"},{"id":"r3"}]}`,
				`200 {"totalResults":4,"Resources":[{"id":"r3"},{"id":"r4"}]}`, `201 {"id":"r5"}`}},
		{"lookup in a list that grows and loses", with(fresh, engine.NoUserFilter),
			[]string{`200 {"totalResults":2,"Resources":[{"id":"r1"}]}`, `200 {"totalResults":3,"Resources":[{"id":"r3"},{"id":"r4"}]}`,
				`200 {"totalResults":3,"Resources":[{"id":"r2"},{"id":"r3"},{"id":"r4"}]}`}},
		{"lookup in a list that ends early", with(fresh, engine.NoUserFilter),
			[]string{`200 {"totalResults":2,"Resources":[{"id":"r1"}]}`, `200 {"totalResults":2,"Resources":[]}`}},
		{"create with an error in a success", fresh,
			[]string{none, `201 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":403,"detail":"quota"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := ann(t)
			c.prepare(&in)
			golden(t, transcript(t, plan.User(in), script(t, c.answers...)))
		})
	}
}

func TestGroup(t *testing.T) {
	m := func(ids ...string) (out []engine.RemoteMember) {
		for _, id := range ids {
			out = append(out, engine.RemoteMember{User: "u-" + id, ID: id, Display: "name-" + id})
		}
		return out
	}
	known := plan.GroupInput{Want: engine.Active, DisplayName: "Tea", RemoteName: "Tea", RemoteID: "g1", Origin: engine.Created, Batch: 3}
	with := func(in plan.GroupInput, f func(*plan.GroupInput)) plan.GroupInput { f(&in); return in }
	all := func(ids ...string) func() ([]engine.RemoteMember, error) {
		return func() ([]engine.RemoteMember, error) { return m(ids...), nil }
	}
	fresh := plan.GroupInput{Want: engine.Active, DisplayName: "Tea", Batch: 2, Members: all("a", "b", "c")}
	wizard := with(known, func(in *plan.GroupInput) { in.Style, in.Members = engine.Wizard, all("a", "b") })
	hidden := with(known, func(in *plan.GroupInput) {
		in.Full, in.Members, in.Traits = true, all("a", "b"), engine.Traits{engine.MembersHidden: true}
	})
	hit := `200 {"Resources":[{"id":"g1","displayName":"tea"}]}`
	const tea = `200 {"id":"g1","displayName":"Tea"}`
	for _, c := range []struct {
		name    string
		in      plan.GroupInput
		answers []string
	}{
		{"create with members in batches", fresh, []string{none, `201 {"id":"g1"}`, `204`}},
		{"create without a response body", fresh, []string{none, `201`}},
		{"link and replace", fresh, []string{hit, `200 {}`, `204`}},
		{"409 then link", fresh, []string{none, `409`, hit, `204`, `204`}},
		{"several hits are held", fresh, []string{`200 {"Resources":[{"id":"g1"},{"id":"g2"}]}`}},
		{"renamed after a lost create", with(fresh, func(in *plan.GroupInput) { in.Origin, in.RemoteName = engine.Unconfirmed, "Old" }),
			[]string{none, `200 {"Resources":[{"id":"g1","displayName":"Old"}]}`, `204`, `204`}},
		{"deltas", with(known, func(in *plan.GroupInput) { in.Add, in.Remove = m("a", "b"), m("c", "d") }), []string{`204`, `204`}},
		{"deltas that fail half-way", with(known, func(in *plan.GroupInput) { in.Add, in.Remove = m("a", "b"), m("c", "d") }),
			[]string{`204`, `500`}},
		{"rename with a delta", with(known, func(in *plan.GroupInput) { in.DisplayName, in.Add = "Coffee", m("a") }), []string{`204`}},
		{"nothing to do", known, nil},
		{"replace by PATCH", with(known, func(in *plan.GroupInput) { in.Full, in.Members = true, all("a", "b") }), []string{`204`}},
		{"missing, with deltas", with(known, func(in *plan.GroupInput) { in.Add = m("a") }), []string{`404`, none}},
		{"missing, but listed under its previous name", with(known, func(in *plan.GroupInput) { in.DisplayName = "Coffee" }),
			[]string{`404`, none, `200 {"Resources":[{"id":"g1","displayName":"tea"}]}`}},
		{"missing, with all members", with(known, func(in *plan.GroupInput) { in.Full, in.Members = true, all("a") }),
			[]string{`404`, none, `201 {"id":"g2"}`}},
		{"404 for a member", with(known, func(in *plan.GroupInput) { in.Add = m("a") }), []string{`404 {"detail":"no user a"}`, hit}},
		{"wizard PUT", wizard, []string{`200 etag="1" {"id":"g1","displayName":"Tea","x":"kept","members":[{"value":"a"}]}`, `200 {}`}},
		{"wizard nothing changed", wizard, []string{`200 {"id":"g1","displayName":"Tea","members":[{"value":"b"},{"value":"a"}]}`}},
		{"wizard 412", wizard, []string{`200 {"id":"g1"}`, `412`, `200 {"id":"g1"}`, `204`}},
		{"inactive", with(known, func(in *plan.GroupInput) { in.Want = engine.Inactive }), nil},
		{"unlink", with(known, func(in *plan.GroupInput) { in.Want = engine.Absent }), nil},
		{"delete", with(known, func(in *plan.GroupInput) { in.Want, in.DeleteRemote = engine.Absent, true }), []string{`204`}},
		{"delete a missing group", with(known, func(in *plan.GroupInput) { in.Want, in.DeleteRemote = engine.Absent, true }), []string{`404`}},
		{"delete without an id ignores other groups", with(fresh, func(in *plan.GroupInput) { in.Want, in.DeleteRemote = engine.Absent, true }),
			nil},
		{"delete after a lost create", with(fresh, func(in *plan.GroupInput) {
			in.Want, in.DeleteRemote, in.Origin = engine.Absent, true, engine.Unconfirmed
		}), []string{hit, `204`}},

		{"a batch that is too large", with(known, func(in *plan.GroupInput) { in.Add = m("a", "b", "c") }), []string{`413`, `204`, `204`, `204`}},
		{"a batch with too many members", with(known, func(in *plan.GroupInput) { in.Add = m("a", "b") }),
			[]string{`400 {"scimType":"invalidValue","detail":"more than 1 member"}`, `204`, `204`}},
		{"a create with too many members", fresh, []string{none, `400 {"scimType":"tooMany"}`, `201 {"id":"g1"}`, `204`, `204`}},
		{"a batch that times out", with(known, func(in *plan.GroupInput) { in.Add = m("a", "b", "c") }), []string{`504`}},
		{"rename where PATCH needs a path", with(known, func(in *plan.GroupInput) { in.DisplayName, in.Add = "Coffee", m("a") }),
			[]string{`400 {"scimType":"invalidPath"}`, `204`}},
		{"removal where paths have no filters", with(known, func(in *plan.GroupInput) { in.DisplayName, in.Remove = "Coffee", m("a", "b") }),
			[]string{`400`, `400`, `204`}},
		{"removal where paths are known to have no filters", with(known, func(in *plan.GroupInput) {
			in.Remove, in.Traits = m("a", "b"), engine.Traits{engine.NoValuePath: true}
		}), []string{`204`}},
		{"removal that requires filters", with(known, func(in *plan.GroupInput) {
			in.Remove, in.Traits = m("a"), engine.Traits{engine.NoValuePath: true}
		}), []string{`400`, `204`}},
		{"replace where it is rejected", with(known, func(in *plan.GroupInput) { in.Full, in.Members = true, all("a", "b") }), []string{
			`400 {"scimType":"invalidValue"}`, `200 {"id":"g1","displayName":"Tea","members":[{"value":"a"},{"value":"x"}]}`, `204`}},
		{"deltas where there is no PATCH", with(known, func(in *plan.GroupInput) { in.Add, in.Members = m("b"), all("a", "b") }), []string{
			`501`, `200 {"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`, `204`}},
		{"PUT where there is none", wizard, []string{`200 {"id":"g1","displayName":"Tea"}`, `405`, `204`}},
		{"every form is rejected", with(known, func(in *plan.GroupInput) { in.DisplayName, in.Members = "Coffee", all("a") }), []string{
			`400 {"detail":"no coffee"}`, `400`, `200 {"id":"g1","displayName":"Tea"}`, `400 {"detail":"no coffee here"}`}},
		{"deltas without effect", with(known, func(in *plan.GroupInput) { in.Add, in.Members = m("b"), all("a", "b") }), []string{
			`200 {"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`, `200 {"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`,
			`200 {"id":"g1","displayName":"Tea","members":[{"value":"a"},{"value":"b"}]}`}},
		{"deltas without any effect", with(known, func(in *plan.GroupInput) { in.Add, in.Members = m("b"), all("a", "b") }), []string{
			`200 {"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`, `200 {"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`,
			`200 {"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`, `200 {"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`}},
		{"a create whose members are lost", with(fresh, func(in *plan.GroupInput) { in.Members = all("a") }), []string{
			none, `201 {"id":"g1","displayName":"Tea"}`, `200 {"id":"g1","displayName":"Tea","members":[{"value":"a"}]}`}},
		{"a create whose members are hidden", with(fresh, func(in *plan.GroupInput) { in.Members = all("a") }), []string{
			none, `201 {"id":"g1","displayName":"Tea"}`, tea, tea, tea, tea, tea}},
		{"a create whose members are hidden where there is no PUT", with(fresh, func(in *plan.GroupInput) { in.Members = all("a") }), []string{
			none, `201 {"id":"g1","displayName":"Tea"}`, tea, tea, `405`, tea}},
		{"a create where members are known to be hidden", with(fresh, func(in *plan.GroupInput) {
			in.Members, in.Traits = all("a"), engine.Traits{engine.MembersHidden: true}
		}), []string{none, `201 {"id":"g1","displayName":"Tea"}`, tea}},
		{"a create by PUT where members are known to be hidden", with(fresh, func(in *plan.GroupInput) {
			in.Members, in.Traits, in.Style = all("a"), engine.Traits{engine.MembersHidden: true}, engine.Wizard
		}), []string{none, `201 {"id":"g1","displayName":"Tea"}`, tea}},
		{"a replacement that leaves others", with(known, func(in *plan.GroupInput) { in.Full, in.Members = true, all("a", "b", "c", "d") }),
			[]string{
				`200 {"id":"g1","displayName":"Tea","members":[{"value":"x"},{"value":"a"},{"value":"b"},{"value":"c"}]}`,
				`200 {"id":"g1","displayName":"Tea","members":[{"value":"x"},{"value":"a"},{"value":"b"},{"value":"c"}]}`, `204`}},
		{"a link to a group whose members turn out to be hidden", fresh, []string{hit, tea, tea, tea, tea, tea, tea}},
		{"a link by PUT to a group whose members turn out to be hidden",
			with(fresh, func(in *plan.GroupInput) { in.Style, in.Batch = engine.Wizard, 3 }),
			[]string{hit, tea, tea, tea, tea, tea}},
		{"all members where they are hidden", with(hidden, func(in *plan.GroupInput) { in.Remove = m("c") }), []string{tea, tea}},
		{"all members where they are hidden, and one is removed", with(hidden, func(in *plan.GroupInput) { in.Remove = m("c") }),
			[]string{`400`, `400`, tea}},
		{"no members where they are hidden", with(hidden, func(in *plan.GroupInput) { in.Members = nil }), []string{tea}},
		{"PUT where members are hidden", with(hidden, func(in *plan.GroupInput) { in.Style = engine.Wizard }), []string{tea}},
		{"PUT where members are hidden and there is no PATCH", with(hidden, func(in *plan.GroupInput) {
			in.Style, in.Traits = engine.Wizard, engine.Traits{engine.MembersHidden: true, engine.NoPatch: true}
		}), []string{tea, tea}},
		{"PUT loses the members", wizard, []string{`200 {"id":"g1","displayName":"Tea"}`, `200 {"id":"g1","displayName":"Tea"}`,
			`200 {"id":"g1","displayName":"Tea","members":[{"value":"a"},{"value":"b"}]}`}},
		{"PUT with the old version and no effect", wizard, []string{`200 etag="1" {"id":"g1","displayName":"Old"}`,
			`200 etag="1" {"id":"g1","displayName":"Tea","members":[{"value":"a"},{"value":"b"}]}`, `200 etag="1" {"id":"g1","displayName":"Old"}`,
			`204`}},
		{"lookup of an unusual name whose filter is rejected",
			with(fresh, func(in *plan.GroupInput) { in.DisplayName, in.Members = `T"ea`, nil }),
			[]string{`400`, `200 {"totalResults":0,"Resources":[]}`, `201 {"id":"g1"}`}},
		{"lookup without filters", with(fresh, func(in *plan.GroupInput) { in.Members = nil }),
			[]string{`501`, `200 {"totalResults":1,"Resources":[{"id":"g9","displayName":"Milk"}]}`, `201 {"id":"g1"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden(t, transcript(t, plan.Group(c.in), script(t, c.answers...)))
		})
	}
}
