package calls_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model/modeltest"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// world is a caller with an active token hook.
type world struct {
	*calls.Caller
	endpoint *hookstest.Endpoint
	hook     docstore.Doc[model.InlineHook]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{endpoint: hookstest.New(t)}
	d := modeltest.Deps(t, sqldbtest.SQLite(t), nil)
	var err error
	w.Caller, err = calls.New(d, calls.Options{Network: calls.Network{CA: w.endpoint.CA}, Secrets: seal.Random()})
	require.NoError(t, err)
	t.Cleanup(w.CloseIdleConnections)
	require.NoError(t, d.Update(t.Context(), func(tx *docstore.Tx) error {
		w.hook, err = d.InlineHooks.Insert(t.Context(), tx, model.NewID(model.KindInlineHook), model.InlineHook{
			Name: "tokens", Type: model.HookTokenTransform, Version: model.HookVersion, Status: model.HookActive,
			Channel: model.HookChannel{Type: model.HookHTTP, Version: model.HookVersion, URI: w.endpoint.URL},
		})
		return err
	}))
	return w
}

// newest returns the newest log event of a type.
func (w *world) newest(t *testing.T, event string) model.LogEvent {
	t.Helper()
	var found model.LogEvent
	require.NoError(t, model.Each(t.Context(), w.Store.Reader(), w.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
		if doc.Value.Type == event {
			found = doc.Value
		}
		return nil
	}))
	return found
}

func tokens() calls.Tokens {
	return calls.Tokens{
		Identity: &calls.Token{Claims: map[string]any{"sub": "00u1", "name": "Ada"}, Lifetime: time.Hour},
		Access: &calls.Token{
			Claims: map[string]any{"iss": "https://as", "sub": "ada", "scp": []string{"a"}, "teams": []string{"x", "y"},
				"place": map[string]any{"floor": 3, "room": "b/c"}},
			Lifetime: time.Hour, Scopes: map[string]string{"a": "scp1"},
		},
	}
}

// claims returns claims as JSON.
func claims(t *testing.T, of map[string]any) string {
	t.Helper()
	text, err := json.Marshal(of)
	require.NoError(t, err)
	return string(text)
}

// Proves A-events-08, A-events-18, A-events-19, A-events-20.
func TestTransformTokens(t *testing.T) {
	w := newWorld(t)
	w.endpoint.Answer(hookstest.JSON(200, `{"commands": [
		{"type": "com.svc.identity.patch", "value": [
			{"op": "replace", "path": "/claims/name", "value": "Lady Ada"}, {"op": "add", "path": "/claims/big", "value": 12345678901234567890},
			{"op": "replace", "path": "/token/lifetime/expiration", "value": 36000}]},
		{"type": "com.svc.access.patch", "value": [
			{"op": "add", "path": "/claims/new", "value": {"a": null}}, {"op": "add", "path": "/claims/new/b", "value": []},
			{"op": "add", "path": "/claims/new/b/-", "value": 1},
			{"op": "add", "path": "/claims/new/b/0", "value": 0}, {"op": "remove", "path": "/claims/place/room"},
			{"op": "replace", "path": "/claims/teams/1", "value": "z"},
			{"op": "remove", "path": "/claims/teams/0"}, {"op": "add", "path": "/claims/https:~1~1example.com~1x~0y", "value": true}]}]}`))
	given := tokens()
	about := calls.TokenContext{
		Protocol: map[string]any{"type": "OAUTH2.0"}, Policy: map[string]any{"id": "00p1"},
		Target: []model.LogParty{{ID: "0oa1", Type: "AppInstance"}},
	}
	changed, err := w.TransformTokens(t.Context(), w.hook.ID, about, given)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(tokens(), given), "the given tokens are not modified")
	require.JSONEq(t, `{"sub":"00u1","name":"Lady Ada","big":12345678901234567890}`, claims(t, changed.Identity.Claims))
	require.Contains(t, claims(t, changed.Identity.Claims), "12345678901234567890", "all digits of the number")
	require.Equal(t, 10*time.Hour, changed.Identity.Lifetime)
	require.JSONEq(t,
		`{"iss":"https://as","sub":"ada","scp":["a"],"teams":["z"],"place":{"floor":3},"new":{"a":null,"b":[0,1]},`+
			`"https://example.com/x~y":true}`, claims(t, changed.Access.Claims))
	require.Equal(t, time.Hour, changed.Access.Lifetime)
	require.Equal(t, given.Access.Scopes, changed.Access.Scopes)

	var event struct {
		EventType string
		Data      json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(w.endpoint.Called(1)[0].Body), &event))
	require.Equal(t, "com.svc.oauth2.tokens.transform", event.EventType)
	require.JSONEq(t, `{"context":{"protocol":{"type":"OAUTH2.0"},"policy":{"id":"00p1"}},
		"identity":{"claims":{"sub":"00u1","name":"Ada"},"token":{"lifetime":{"expiration":3600}}},
		"access":{"claims":{"iss":"https://as","sub":"ada","scp":["a"],"teams":["x","y"],"place":{"floor":3,"room":"b/c"}},
			"token":{"lifetime":{"expiration":3600}},"scopes":{"a":{"id":"scp1","action":"GRANT"}}}}`, string(event.Data))
	told := w.newest(t, "inline_hook.response.processed")
	require.Equal(t, model.LogSuccess, told.Result)
	require.Equal(t, "2", told.Debug["commands"])
	require.Equal(t, []string{w.hook.ID, "0oa1"}, []string{told.Targets[0].ID, told.Targets[1].ID})

	w.endpoint.Answer(hookstest.JSON(204, ""))
	only := calls.Tokens{Access: given.Access}
	changed, err = w.TransformTokens(t.Context(), w.hook.ID, calls.TokenContext{}, only)
	require.NoError(t, err)
	require.JSONEq(t, claims(t, only.Access.Claims), claims(t, changed.Access.Claims))
	require.NotContains(t, w.endpoint.Called(1)[0].Body, "identity")
}

// TestTransformTokens_RejectsForbiddenCommands verifies that one forbidden command leaves all tokens unchanged.
func TestTransformTokens_RejectsForbiddenCommands(t *testing.T) {
	w := newWorld(t)
	// Each response starts with an allowed command, which must not be applied either.
	access := func(patches string) string {
		return `{"commands":[{"type":"com.svc.access.patch","value":[{"op":"add","path":"/claims/fine","value":1}]},` +
			`{"type":"com.svc.access.patch","value":` + patches + `}]}`
	}
	one := func(op, path, value string) string {
		return access(fmt.Sprintf(`[{"op":%q,"path":%q,"value":%s}]`, op, path, value))
	}
	cases := map[string]struct{ answer, reason string }{
		"an unknown command": {`{"commands":[{"type":"com.svc.assertion.patch","value":[]}]}`, "is not a command for tokens"},
		"too many commands": {`{"commands":[` + strings.Repeat(`{"type":"com.svc.access.patch","value":[]},`, calls.MaxCommands) +
			`{"type":"com.svc.access.patch","value":[]}]}`, "more than 100 commands"},
		"a value that is not a list":      {access(`{"op":"add"}`), "must be a list of operations"},
		"no value":                        {`{"commands":[{"type":"com.svc.access.patch"}]}`, "must be a list of operations"},
		"an operation without value":      {access(`[{"op":"add","path":"/claims/x"}]`), "has no value"},
		"an unknown operation":            {one("move", "/claims/teams", `1`), "must be add, replace or remove"},
		"an unknown one in an array":      {one("copy", "/claims/teams/0", `1`), "must be add, replace or remove"},
		"replacing an absent member":      {one("replace", "/claims/x", `1`), "the path does not exist"},
		"removing an absent member":       {one("remove", "/claims/x", `1`), "the path does not exist"},
		"a path through an absent member": {one("add", "/claims/x/y", `1`), "the path does not exist"},
		"a path through a string":         {one("add", "/claims/place/room/x", `1`), "neither an object nor an array"},
		"an index that is not a number":   {one("add", "/claims/teams/01", `1`), "not a number"},
		"an index past the end":           {one("add", "/claims/teams/3", `1`), "the path does not exist"},
		"replacing past the end":          {one("replace", "/claims/teams/2", `1`), "the path does not exist"},
		"all claims":                      {one("replace", "/claims", `{}`), "is not the path of a claim"},
		"a claim without a name":          {one("add", "/claims/", `1`), "is not the path of a claim"},
		"no path":                         {one("add", "", `1`), "is not the path of a claim"},
		"a path outside":                  {one("replace", "/scopes/a/action", `"DENY"`), "is not the path of a claim"},
		"another part of the token":       {one("replace", "/token/lifetime", `{"expiration":600}`), "is not the path of a claim"},
		"a lifetime that is added":        {one("add", "/token/lifetime/expiration", `600`), "can only be replaced"},
		"a lifetime that is too short":    {one("replace", "/token/lifetime/expiration", `299`), "between 300 and 86400"},
		"a lifetime that is too long":     {one("replace", "/token/lifetime/expiration", `86401`), "between 300 and 86400"},
		"a lifetime that is a string":     {one("replace", "/token/lifetime/expiration", `"600"`), "a whole number of seconds"},
		"a lifetime that is null":         {one("replace", "/token/lifetime/expiration", `null`), "a whole number of seconds"},
		"a lifetime with a fraction":      {one("replace", "/token/lifetime/expiration", `600.5`), "a whole number of seconds"},
		"a claim that is too large":       {one("add", "/claims/x", `"`+strings.Repeat("x", calls.MaxClaims)+`"`), "more than 16384 bytes"},
		"claims that are too large": {
			access("[" + strings.Repeat(fmt.Sprintf(`{"op":"add","path":"/claims/teams/-","value":%q},`, strings.Repeat("x", 1000)), 17) +
				`{"op":"add","path":"/claims/x","value":1}]`), "more than 16384 bytes"},
		"a claim that is too deep": {
			one("add", "/claims/x", strings.Repeat("[", calls.MaxClaimsDepth)+strings.Repeat("]", calls.MaxClaimsDepth)),
			"nested more than 16 deep"},
		"far too deep": {one("add", "/claims/x", strings.Repeat("[", 9000)+strings.Repeat("]", 9000)), "nested more than 16 deep"},
		"claims that become too deep": {access(`[{"op":"add","path":"/claims/x","value":{"y":[]}},{"op":"add","path":"/claims/x/y/-",` +
			`"value":` + strings.Repeat(`{"z":`, 13) + `[]` + strings.Repeat(`}`, 13) + `}]`), "nested more than 16 deep"},
		"an error next to commands": {strings.Replace(one("add", "/claims/x", `1`), `{`, `{"error":{"errorSummary":"not today"},`, 1),
			"not today"},
	}
	for _, name := range calls.FixedClaims() {
		for _, op := range []string{"add", "replace", "remove"} {
			cases[op+" "+name] = struct{ answer, reason string }{one(op, "/claims/"+name, `"x"`), "the claim " + name + " cannot be changed"}
		}
	}
	cases["inside a fixed claim"] = struct{ answer, reason string }{one("add", "/claims/scp/-", `"admin"`), "the claim scp cannot be changed"}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w.endpoint.Answer(hookstest.JSON(200, c.answer))
			given := tokens()
			got, err := w.TransformTokens(t.Context(), w.hook.ID, calls.TokenContext{}, given)
			require.ErrorContains(t, err, c.reason)
			require.Empty(t, cmp.Diff(tokens(), got))
			w.endpoint.Called(1)
			told := w.newest(t, "inline_hook.response.processed")
			require.Equal(t, model.LogFailure, told.Result)
			require.Contains(t, told.Reason, c.reason)
		})
	}
	w.endpoint.Answer(hookstest.JSON(200, `{"commands":[{"type":"com.svc.identity.patch","value":[]}]}`))
	_, err := w.TransformTokens(t.Context(), w.hook.ID, calls.TokenContext{}, calls.Tokens{Access: tokens().Access})
	require.ErrorContains(t, err, "for a token that is not issued")
	w.endpoint.Answer(hookstest.JSON(500, ""))
	got, err := w.TransformTokens(t.Context(), w.hook.ID, calls.TokenContext{}, tokens())
	require.ErrorContains(t, err, "answered with 500")
	require.Empty(t, cmp.Diff(tokens(), got))
	require.Equal(t, model.LogFailure, w.newest(t, "inline_hook.executed").Result)
}

// TestTransformTokens_UnusableHook verifies that TransformTokens does not call an unknown or inactive hook, or one of another type.
func TestTransformTokens_UnusableHook(t *testing.T) {
	w := newWorld(t)
	set := func(change func(*model.InlineHook)) {
		require.NoError(t, w.Update(t.Context(), func(tx *docstore.Tx) error {
			doc, err := w.InlineHooks.Get(t.Context(), tx, w.hook.ID)
			if err != nil {
				return err
			}
			change(&doc.Value)
			_, err = w.InlineHooks.Update(t.Context(), tx, doc.ID, doc.Rev, doc.Value)
			return err
		}))
	}
	unchanged := func(id string) {
		t.Helper()
		got, err := w.TransformTokens(t.Context(), id, calls.TokenContext{}, tokens())
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(tokens(), got))
		w.endpoint.Called(0)
	}
	unchanged("cal00000000000000000")
	set(func(h *model.InlineHook) { h.Status = model.HookInactive })
	unchanged(w.hook.ID)
	set(func(h *model.InlineHook) { h.Status, h.Type = model.HookActive, model.HookTelephony })
	unchanged(w.hook.ID)
}

// Proves A-hooks-46.
func TestCall_Limits(t *testing.T) {
	require.Equal(t, 3*time.Second, calls.DefaultTimeout)
	require.Equal(t, 2, calls.Attempts)
	_, err := calls.New(model.Deps{}, calls.Options{Network: calls.Network{CA: "nothing"}})
	require.ErrorContains(t, err, "no PEM certificate")
}

func FuzzCommands(f *testing.F) {
	f.Add(`{"commands":[{"type":"com.svc.access.patch","value":[{"op":"add","path":"/claims/a/-","value":[1,{"b":null}]}]}]}`)
	f.Add(`{"commands":[{"type":"com.svc.identity.patch","value":[{"op":"remove","path":"/claims/iss"}]},{"type":"com.svc.access.patch",` +
		`"value":[{"op":"replace","path":"/claims/~0~1","value":"x"}]}]}`)
	f.Add(`{"error":{"errorSummary":"no"},"commands":null,"debugContext":[]}`)
	f.Fuzz(func(t *testing.T, answer string) {
		before := tokens()
		after, err := calls.Follow([]byte(answer), before)
		require.Empty(t, cmp.Diff(tokens(), before), "the given tokens are not modified")
		if err != nil {
			return
		}
		for i, pair := range [][2]*calls.Token{{before.Identity, after.Identity}, {before.Access, after.Access}} {
			require.GreaterOrEqual(t, pair[1].Lifetime, calls.MinTokenLifetime)
			require.LessOrEqual(t, pair[1].Lifetime, calls.MaxTokenLifetime)
			for _, name := range calls.FixedClaims() {
				old, had := pair[0].Claims[name]
				now, has := pair[1].Claims[name]
				require.Equal(t, had, has, "%d %s", i, name)
				require.JSONEq(t, claims(t, map[string]any{"v": old}), claims(t, map[string]any{"v": now}))
			}
			require.True(t, json.Valid([]byte(claims(t, maps.Clone(pair[1].Claims)))))
		}
	})
}
