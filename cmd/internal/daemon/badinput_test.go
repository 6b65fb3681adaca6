package daemon_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

// documented is an operation of the OpenAPI document.
type documented struct {
	method, path string
	scopes       []string
	*openapi3.Operation
}

// described returns the operations of a daemon with their paths below the prefix, in a defined order.
func described(t *testing.T, d *daemon.Daemon) (all []documented) {
	t.Helper()
	root := &caller{t: t, url: d.Ready().BaseURL}
	document, err := openapi3.NewLoader().LoadFromData([]byte(root.do(http.StatusOK, http.MethodGet, "/openapi.json", "").body))
	require.NoError(t, err)
	for _, path := range slices.Sorted(maps.Keys(document.Paths.Map())) {
		methods := document.Paths.Value(path).Operations()
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			op := documented{method: method, path: strings.TrimPrefix(path, "/engine/v1"), Operation: methods[method]}
			text, err := json.Marshal(op.Extensions["x-svc-scopes"])
			require.NoError(t, err)
			_ = json.Unmarshal(text, &op.scopes)
			all = append(all, op)
		}
	}
	return all
}

// badInput sends requests to operations with the values of existing objects in the path.
type badInput struct {
	*caller
	values map[string]string // of the variables in paths
	sent   int
}

// at returns the path of an operation. replaced is the variable with the given value, if any.
func (b *badInput) at(op documented, replaced, value string) string {
	path := op.path
	for name, v := range b.values {
		if name == replaced {
			v = value
		}
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(v))
	}
	require.NotContains(b.t, path, "{", op.OperationID)
	return path
}

// rejected sends a request, and requires that it is not accepted if must is set, that no fault of the server occurs, and that an error has
// a code and a text.
func (b *badInput) rejected(op documented, what string, must bool, path, media, body string) response {
	b.t.Helper()
	b.sent++
	one := *b.caller
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, op.method, one.url+path, strings.NewReader(body))
	require.NoError(b.t, err, "%s: %s", op.OperationID, what)
	req.Header.Set("Content-Type", media)
	if one.token != "" {
		req.Header.Set("Authorization", "Bearer "+one.token)
	}
	if one.tenant != "" {
		req.Header.Set("X-Svc-Tenant", one.tenant)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err, "%s: %s", op.OperationID, what)
	defer res.Body.Close()
	r := response{status: res.StatusCode, header: res.Header}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		assert.False(b.t, must, "%s: %s: accepted", op.OperationID, what)
		return r
	}
	var text strings.Builder
	buffer := make([]byte, 64<<10)
	for {
		n, err := res.Body.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	r.body = text.String()
	short := r.body[:min(len(r.body), 300)]
	assert.Less(b.t, r.status, 500, "%s: %s: %s %s: %s", op.OperationID, what, op.method, path[:min(len(path), 200)], short)
	if r.status < 400 {
		assert.False(b.t, must, "%s: %s: accepted with %d: %s", op.OperationID, what, r.status, short)
		return r
	}
	var e struct{ ErrorCode, ErrorSummary, ErrorID string }
	if assert.NoError(b.t, json.Unmarshal([]byte(r.body), &e), "%s: %s: %d %s", op.OperationID, what, r.status, short) {
		assert.True(b.t, e.ErrorCode != "" && e.ErrorSummary != "" && e.ErrorID != "", "%s: %s: %s", op.OperationID, what, short)
	}
	return r
}

// wrongValue returns a value that a schema does not allow.
func wrongValue(s *openapi3.Schema) any {
	switch {
	case s.Type.Is("string"), s.Type.Is("boolean"), s.Type.Is("array"):
		return map[string]any{"wrong": 1}
	case s.Type.Is("integer"), s.Type.Is("number"):
		return "wrong"
	default:
		return []any{"wrong"}
	}
}

// valid returns a value for the required members of a schema.
func valid(s *openapi3.Schema) map[string]any {
	out := map[string]any{}
	for _, name := range s.Required {
		p := s.Properties[name]
		if p == nil || p.Value.ReadOnly {
			continue
		}
		switch v := p.Value; {
		case len(v.Enum) > 0:
			out[name] = v.Enum[0]
		case v.Type.Is("string"):
			out[name] = "https://x.example/"
		case v.Type.Is("integer"), v.Type.Is("number"):
			out[name] = 1
		case v.Type.Is("boolean"):
			out[name] = false
		case v.Type.Is("array"):
			out[name] = []any{}
		default:
			out[name] = valid(v)
		}
	}
	return out
}

// TestBadInput_EveryOperation sends invalid requests to each operation of the OpenAPI document. Each of them results in an error with a
// code and a text, none in a fault of the server.
func TestBadInput_EveryOperation(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		_, target := newTarget(t)
		d, _ := start(t, daemon.Options{DB: databaseURL, Limits: daemon.Limits{Rate: 1e6}})
		admin := callerOf(t, d)
		var hook struct{ ID, Secret string }
		admin.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(1, target))
		admin.do(http.StatusOK, http.MethodPut, "/apps/crm/users/u-1",
			`{"version":1,"want":"active","resource":{"userName":"ann"},"password":"p4ssw0rd","passwordVersion":"1"}`)
		admin.do(http.StatusOK, http.MethodPut, "/apps/crm/groups/g-1", `{"version":1,"want":"active","displayName":"g"}`)
		admin.do(http.StatusCreated, http.MethodPost, "/webhooks", `{"url":"https://idp.example.com/"}`, &hook)
		admin.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		b := &badInput{caller: admin, values: map[string]string{
			"app": "crm", "user": "u-1", "group": "g-1", "id": "u-1", "kind": "user", "endpoint": hook.ID, "letter": "evt_1", "token": "tok-1",
			"plan": "none", "snapshot": "1", "import": "1", "number": "1", "task": "1", "run": "1", "object": "1", "member": "u-1", "job": "1",
			"principal": "u-1",
		}}
		ops := described(t, d)
		require.Greater(t, len(ops), 60)
		secrets := []string{"t0k3n", "p4ssw0rd", hook.Secret}
		long := strings.Repeat("x", 1<<20)
		for _, op := range ops {
			for _, value := range []string{long[:20_000], "\x00", "\xff\xfe", "..", "' OR 1=1 --", "ü\u202e"} {
				for name := range b.values {
					if strings.Contains(op.path, "{"+name+"}") {
						b.rejected(op, "path variable "+name, false, b.at(op, name, value), "application/json", "{}")
					}
				}
			}
			for _, p := range op.Parameters {
				if p.Value.In != openapi3.ParameterInQuery {
					continue
				}
				for _, value := range []string{"%00", "%ff", "-1", "99999999999999999999", "x", long[:10_000]} {
					b.rejected(op, "parameter "+p.Value.Name, false, b.at(op, "", "")+"?"+p.Value.Name+"="+value, "application/json", "{}")
				}
			}
			if op.RequestBody != nil {
				b.bodies(op, long)
			}
		}
		b.callers(ops, secrets)
		t.Logf("%d operations, %d requests", len(ops), b.sent)
	})
}

// bodies sends invalid bodies.
func (b *badInput) bodies(op documented, long string) {
	media := "application/json"
	content := op.RequestBody.Value.Content
	if content.Get(media) == nil {
		media = "application/x-ndjson"
	}
	at := b.at(op, "", "")
	if op.RequestBody.Value.Required {
		b.rejected(op, "no body", true, at, media, "")
	}
	if media == "application/x-ndjson" {
		b.rejected(op, "wrong media type", true, at, "text/plain", "x")
		r := b.rejected(op, "broken lines", false, at, media, "{\"op\":\n\n[1]\nnull\n"+`{"op":"none"}`+"\n"+`{"op":"putUser","id":7}`+"\n"+long)
		assert.Contains(b.t, r.body, "failed", r.body)
		return
	}
	for _, body := range []string{`{"a":`, `{"a":1}}`, "\xff\xfe", `[1,"x"]`, `"x"`, strings.Repeat("[", 100_000)} {
		b.rejected(op, "body "+body[:min(len(body), 20)], true, at, media, body)
	}
	b.rejected(op, "unknown member", false, at, media, `{"noSuchMember":1}`) // ignored
	schema := content.Get(media).Schema.Value
	if schema.Type.Is("array") {
		return
	}
	for name, p := range schema.Properties {
		if p.Value.ReadOnly {
			continue
		}
		object := valid(schema)
		object[name] = wrongValue(p.Value)
		b.rejected(op, "wrong type of "+name, true, at, media, asJSON(b.t, object))
		if p.Value.Type.Is("string") {
			object[name] = long
			b.rejected(op, "long value of "+name, true, at, media, asJSON(b.t, object))
			object[name] = "\x00"
			b.rejected(op, "NUL in "+name, false, at, media, asJSON(b.t, object))
		}
		if p.Value.Type.Is("integer") {
			object[name] = json.Number("-99999999999999999999")
			b.rejected(op, "large value of "+name, true, at, media, asJSON(b.t, object))
		}
	}
}

// callers sends requests without a token, without the permissions, and from another tenant, and searches responses for secrets.
func (b *badInput) callers(ops []documented, secrets []string) {
	all := []string{"read", "write", "apps", "approve", "secrets", "admin"}
	admin := b.caller
	lacking := map[string]*caller{}
	for _, scope := range all {
		lacking[scope] = admin.as("default", slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == scope })...)
	}
	lacking["fleet"] = admin.as("default", all...)
	foreign := admin.as("acme", all...)
	for _, op := range ops {
		at := b.at(op, "", "")
		*b = badInput{&caller{t: admin.t, url: admin.url}, b.values, b.sent}
		if !strings.HasPrefix(op.path, "/livez") && !strings.HasPrefix(op.path, "/readyz") {
			assert.Equal(b.t, http.StatusUnauthorized, b.rejected(op, "no token", true, at, "application/json", "{}").status, op.OperationID)
		}
		b.token = "swe_unknown"
		assert.Equal(b.t, http.StatusUnauthorized, b.rejected(op, "unknown token", true, at, "application/json", "{}").status, op.OperationID)
		for _, scope := range op.scopes {
			if c := lacking[scope]; c != nil {
				b.caller = c
				assert.Equal(b.t, http.StatusForbidden, b.rejected(op, "without "+scope, true, at, "application/json", "{}").status, op.OperationID)
			}
		}
		b.caller = foreign
		r := b.rejected(op, "another tenant", strings.Contains(op.path, "{app}") && op.OperationID != "putApp" &&
			op.OperationID != "deleteApp", at,
			"application/json", "{}")
		assert.NotContains(b.t, r.body, `"ann"`, op.OperationID)
		b.caller = &caller{t: admin.t, url: admin.url, token: foreign.token, tenant: "default"}
		assert.Equal(b.t, http.StatusForbidden, b.rejected(op, "tenant in the header", true, at, "application/json", "{}").status, op.OperationID)
		if op.method == http.MethodGet {
			b.caller = admin
			r := b.rejected(op, "secrets", false, at, "application/json", "")
			for _, secret := range secrets {
				assert.NotContains(b.t, r.body, secret, op.OperationID)
			}
		}
	}
	b.caller = admin
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
