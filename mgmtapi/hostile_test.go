package mgmtapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

// FuzzOperations sends series of requests to operations of the OpenAPI document. The bodies match the schemas, violate them, or are not
// JSON; the ids are of the right kind, of other kinds, or unknown. No request may cause an internal error, every response must match the
// document, and a rejected request must not add or remove objects.
//
// An input is a series of choices. After its end, a generator that the input seeds makes the choices.
func FuzzOperations(f *testing.F) {
	for seed := range 14 {
		f.Add([]byte{byte(seed)})
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		w := newWorld(t, newChoices(input))
		for range requestsPerInput {
			w.request(t)
		}
	})
}

const (
	requestsPerInput = 40
	maxDepth         = 4 // maximum nesting of a generated value
)

// choices are the random decisions, taken from a fuzzing input.
type choices struct {
	input []byte
	rest  *rand.Rand
}

func newChoices(input []byte) *choices {
	h := fnv.New64a()
	_, _ = h.Write(input) // never fails
	return &choices{input: input, rest: rand.New(rand.NewPCG(h.Sum64(), 1))}
}

// below returns a number from 0 to n-1. It consumes the input from the end; the first bytes only seed the generator.
func (c *choices) below(n int) int {
	if len(c.input) <= 2 {
		return c.rest.IntN(n)
	}
	size := 1
	if n > 256 && len(c.input) > 3 {
		size = 2
	}
	value := 0
	for range size {
		last := len(c.input) - 1
		value, c.input = value<<8|int(c.input[last]), c.input[:last]
	}
	return value % n
}

// one returns true with a probability of 1/n.
func (c *choices) one(n int) bool { return c.below(n) == 0 }

func pick[T any](c *choices, from []T) T { return from[c.below(len(from))] }

// target is an operation with its path.
type target struct {
	method, path string
	operation    *openapi3.Operation
}

// targets lists the operations of the API by path and method.
func targets(t *testing.T, e *apitest.Env) (out []target) {
	t.Helper()
	paths := e.Document().Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		operations := paths[path].Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			out = append(out, target{method, path, operations[method]})
		}
	}
	return out
}

// world is an organization with the ids and cursors that responses have shown.
type world struct {
	*choices

	env     *apitest.Env
	targets []target
	ids     map[string][]string // by prefix
	cursors []string

	administrator string // id of the administrator
}

// doneWork is provisioning work without pending tasks.
type doneWork struct{}

func (doneWork) Drain(context.Context) (sandboxport.Left, error) { return sandboxport.Left{}, nil }

func newWorld(t *testing.T, c *choices) *world {
	t.Helper()
	w := &world{choices: c, env: apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.Work = doneWork{} }),
		ids: map[string][]string{}}
	w.env.Unrecorded()
	w.targets = targets(t, w.env)
	for _, seed := range []struct{ do, body string }{
		{"POST /api/v1/users",
			`{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"Ann","lastName":"Other"},` +
				`"credentials":{"password":{"value":"Correct-horse-7"},"recovery_question":{"question":"Who?","answer":"the cat"}}}`},
		{"POST /api/v1/users?activate=false",
			`{"profile":{"login":"ben@example.com","email":"ben@example.com","firstName":"Ben","lastName":"Other"}}`},
		{"POST /api/v1/groups", `{"profile":{"name":"One"}}`},
		{"POST /api/v1/groups", `{"profile":{"name":"Two"}}`},
		{"POST /api/v1/apps", `{"name":"bookmark","label":"Bookmark","settings":{"app":{"url":"https://example.com"}}}`},
		{"POST /api/v1/apps", `{"name":"scim2_test_app","label":"Provisioned"}`},
		{"POST /api/v1/apps",
			`{"name":"template_swa","label":"SWA","settings":{"app":{"url":"https://example.com","usernameField":"u","passwordField":"p",` +
				`"buttonField":"b"}}}`},
		{"POST /api/v1/meta/types/user", `{"name":"guest","displayName":"Guest"}`},
		{"POST /api/v1/groups/rules",
			`{"type":"group_rule","name":"Others","conditions":{"expression":{"type":"urn:svc:expression:1.0",` +
				`"value":"user.lastName==\"Other\""}},"actions":{"assignUserToGroups":{"groupIds":["{group}"]}}}`},
		{"GET /api/v1/meta/types/user", ""},
		{"GET /api/v1/api-tokens", ""},
		{"GET /api/v1/groups", ""},
	} {
		body := strings.ReplaceAll(seed.body, "{group}", strings.Join(w.ids["00g"][:min(1, len(w.ids["00g"]))], ""))
		a := w.env.Do(t, seed.do, body, nil)
		require.Equal(t, http.StatusOK, a.Status, "%s: %s", seed.do, a.Body)
		w.learn(a)
	}
	w.administrator = w.env.Do(t, "GET /api/v1/users/me", "", nil).Value("id")
	return w
}

// learn stores the ids and cursors of a response.
func (w *world) learn(a *apitest.Answer) {
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, inner := range v {
				if id, ok := inner.(string); ok && len(id) >= 3 &&
					(name == "id" || name == "kid" || strings.HasSuffix(strings.ToLower(name), "token")) {
					known := w.ids[id[:3]]
					if !slices.Contains(known, id) {
						w.ids[id[:3]] = append(known, id)
					}
				}
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(a.JSON)
	if next, err := url.Parse(a.Value("link:next")); err == nil && next.Query().Get("after") != "" {
		w.cursors = append(w.cursors, next.Query().Get("after"))
	}
}

// kinds maps a part of the name of a parameter or member to the prefixes of the ids that are valid values of this parameter or member.
var kinds = map[string][]string{
	"user": {"00u"}, "group": {"00g"}, "app": {"0oa"}, "client": {"0oa"}, "rule": {"0pr"}, "type": {"oty"}, "schema": {"osc", "oty"},
	"mapping": {"prm", "gPm"},
	"owner":   {"00u", "00g"}, "key": {"HKY"}, "policy": {"00p"}, "server": {"aus"}, "scope": {"scp"}, "claim": {"ocl"}, "session": {"102"},
	"factor": {"ufs", "sms", "emf", "ost"},
	"token":  {"00T", "oar"}, "grant": {"oag"}, "role": {"cr0", "ra1", "gra"}, "member": {"irb", "00u", "00g"}, "resource": {"iam", "ire"},
	"id": {"00u", "00g", "0oa", "cal", "00T"},
}

// names are strings with a meaning in paths and bodies.
var names = []string{
	"me", "default", "current", "USER_PROVISIONING", "INBOUND_PROVISIONING", "ann", "ann@example.com", "admin@example.com", "Everyone", "One",
	"SUPER_ADMIN",
	"bookmark", "svc", "null", "0", "-1", "true",
}

// junk are strings that implementations often process incorrectly: empty, very long, with control characters or with syntax of other
// languages.
var junk = []string{
	"", " ", "nobody", "00unobody00000000000", "..", ".", "a/b", "%00", "\x00", "\u202e", "ﬁ", "İ", "'; drop table users; --", `"\`,
	"${user.login}", "<script>", "{}", "[]",
	"\U0001F600", "a\nb", strings.Repeat("x", 300), strings.Repeat("ä", 5000), "9223372036854775808", "1e309", "NaN", "2026-13-45T99:99:99Z",
	"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
}

// expressions are valid and malformed filters, searches and rule expressions.
var expressions = []string{
	`status eq "ACTIVE"`, `profile.login sw "a" or id pr`, `profile.lastName co "o" and (status eq "STAGED")`, `type eq "SVC_GROUP"`,
	`lastUpdated gt "2020-01-01T00:00:00Z"`,
	`name eq bookmark`, `user.id eq "%s"`, `group.id eq "%s"`, `eventType sw "user." and not (target.id eq "x")`,
	`debugContext.debugData.url co "x"`, `published ge "x"`,
	`id eq`, `((((`, `a eq "b" and`, `profile.. eq 1`, `status eq 1`, `profile.login co "\ud800"`,
	strings.Repeat("(", 200) + `id pr` + strings.Repeat(")", 200),
	strings.Repeat(`id pr or `, 100) + `id pr`, `user.lastName=="Other"`, `String.len(user.login)>3`, `isMemberOfGroup("%s")`, `user.login`,
	`1/0`, `[1,2][99]`,
}

// id returns an id of the kind that fits the name, an id of another kind, or another string.
func (w *world) id(name string) string {
	switch w.below(24) {
	case 0:
		return pick(w.choices, junk)
	case 1, 2:
		return pick(w.choices, names)
	case 3, 4: // any kind
	default:
		name = strings.ToLower(name)
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			if !strings.Contains(name, kind) {
				continue
			}
			if known := w.ids[pick(w.choices, kinds[kind])]; len(known) > 0 && kind != "id" {
				return pick(w.choices, known)
			}
		}
	}
	known := w.ids[pick(w.choices, slices.Sorted(maps.Keys(w.ids)))]
	return pick(w.choices, known)
}

// request sends one request.
func (w *world) request(t *testing.T) {
	t.Helper()
	if w.one(40) {
		w.env.Clock.Advance(time.Duration(w.below(72)) * time.Hour)
	}
	to := pick(w.choices, w.targets)
	path, query := to.path, url.Values{}
	for _, p := range to.operation.Parameters {
		switch p := p.Value; p.In {
		case openapi3.ParameterInPath:
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(w.id(p.Name)))
		case openapi3.ParameterInQuery:
			if w.one(3) {
				query.Set(p.Name, w.parameter(p))
			}
		}
	}
	if w.one(30) {
		query.Set(pick(w.choices, junk), pick(w.choices, junk))
	}
	if w.one(60) {
		path += "/"
	}
	body, header := "", w.header()
	if b := to.operation.RequestBody; b != nil && !w.one(12) {
		if written := b.Value.Content["application/json"]; written != nil {
			body = w.broken(w.value(written.Schema, "", 0))
		} else {
			body = w.form(b.Value.Content[formType].Schema)
			if header == nil {
				header = map[string]string{"Content-Type": formType}
			}
		}
	} else if w.one(10) {
		body = pick(w.choices, []string{"{}", "null", "[]", "x", "0", `""`})
	}
	if to.method != http.MethodGet && w.endsAll(path) && !w.one(20) {
		return
	}
	do := to.method + " " + path
	if len(query) > 0 {
		do += "?" + query.Encode()
	}
	if w.one(100) {
		do = pick(w.choices, []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}) + do[strings.IndexByte(do, ' '):]
	}
	if strings.HasPrefix(do, "HEAD ") { // responses without a body cannot be checked
		return
	}
	before := w.count(t)
	trace := do + "\n" + clip(body)
	a := w.env.Do(traced{t, trace}, do, body, header)
	require.True(t,
		a.Status < 500 ||
			a.Status == http.StatusNotImplemented && (a.Value("errorCode") == "E0000060" || a.Value("error") == "unsupported_operation"),
		"%s\n%d %s\n%s", trace, a.Status, a.Body, w.env.Log)
	if a.Status >= 400 {
		after := w.count(t)
		if strings.Contains(path, "/credentials/") || strings.HasPrefix(path, "/api/v1/authn") {
			// after a wrong secret, the API changes the counter of failed attempts and emits an event for the user
			after[events] = before[events]
		}
		require.Equal(t, before, after, "%s\n%d %s\na rejected request has added or removed objects", trace, a.Status, a.Body)
	}
	w.learn(a)
}

// endsAll reports whether a request to the path can delete or deactivate the administrator or the token that all requests use.
func (w *world) endsAll(path string) bool {
	for _, part := range []string{"/users/me", "/users/admin", w.administrator, "/api-tokens/"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

// traced is a test whose errors include the request.
type traced struct {
	testing.TB
	trace string
}

func (t traced) Errorf(format string, args ...any) {
	t.Helper()
	t.TB.Errorf("%s\n%s", t.trace, fmt.Sprintf(format, args...))
}

func clip(text string) string {
	if len(text) > 4000 {
		return text[:4000] + "..."
	}
	return text
}

// events is the index, in the result of count, of the number of events in the outbox.
const events = 5

// count returns, for each kind of object, the number of stored documents. A rejected request must not change these numbers.
func (w *world) count(t *testing.T) (n [6]int) {
	t.Helper()
	ctx, q, m := t.Context(), w.env.Store.Reader(), w.env.Model
	for i, count := range []func() (int, error){
		func() (int, error) { return m.Users.Count(ctx, q, nil) },
		func() (int, error) { return m.Groups.Count(ctx, q, nil) },
		func() (int, error) { return m.Memberships.Count(ctx, q, nil) },
		func() (int, error) { return m.Apps.Count(ctx, q, nil) },
		func() (int, error) { return m.AppUsers.Count(ctx, q, nil) },
		func() (int, error) { return w.env.Store.Waiting(ctx) },
	} {
		var err error
		n[i], err = count()
		require.NoError(t, err)
	}
	return n
}

// parameter returns a value for a query parameter.
func (w *world) parameter(p *openapi3.Parameter) string {
	switch {
	case w.one(10):
		return pick(w.choices, junk)
	case slices.Contains([]string{"search", "filter", "q"}, p.Name):
		return w.expression()
	case p.Name == "after" && len(w.cursors) > 0 && !w.one(4):
		return pick(w.choices, w.cursors)
	}
	value := w.value(p.Schema, p.Name, maxDepth)
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(value)
	return string(text)
}

func (w *world) expression() string {
	text := pick(w.choices, expressions)
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, w.id("group"))
	}
	if w.one(4) && text != "" {
		at := w.below(len(text))
		text = text[:at] + pick(w.choices, junk) + text[at:]
	}
	return text
}

// value returns a value of a schema, sometimes an arbitrary one.
func (w *world) value(ref *openapi3.SchemaRef, name string, depth int) any {
	if ref == nil || ref.Value == nil || w.one(25) {
		return w.anything(depth)
	}
	s := ref.Value
	switch {
	case len(s.AllOf) > 0:
		return w.value(s.AllOf[0], name, depth)
	case len(s.OneOf) > 0:
		return w.value(pick(w.choices, s.OneOf), name, depth)
	case len(s.AnyOf) > 0:
		return w.value(pick(w.choices, s.AnyOf), name, depth)
	case s.Nullable && w.one(10):
		return nil
	case len(s.Enum) > 0:
		return pick(w.choices, s.Enum)
	case s.Default != nil && w.one(4):
		return s.Default
	case s.Type.Is("object"):
		return w.object(s, name, depth)
	case s.Type.Is("array"):
		list := []any{}
		for range w.below(4) {
			list = append(list, w.value(s.Items, strings.TrimSuffix(name, "s"), depth+1))
		}
		return list
	case s.Type.Is("string"):
		return w.text(s, name)
	case s.Type.Is("integer"), s.Type.Is("number"):
		return w.number(s)
	case s.Type.Is("boolean"):
		return w.one(2)
	default:
		return w.anything(depth)
	}
}

func (w *world) object(s *openapi3.Schema, name string, depth int) any {
	out := map[string]any{}
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[member]
		if p.Value != nil && p.Value.ReadOnly && !w.one(10) || depth > maxDepth {
			continue
		}
		if slices.Contains(s.Required, member) && !w.one(20) || w.one(2) {
			out[member] = w.value(p, member, depth+1)
		}
	}
	if extra := s.AdditionalProperties; extra.Schema != nil || extra.Has != nil && *extra.Has {
		w.fill(out, name, extra.Schema, depth)
	}
	return out
}

const formType = "application/x-www-form-urlencoded"

// form returns the form fields for an OAuth endpoint.
func (w *world) form(ref *openapi3.SchemaRef) string {
	fields := url.Values{}
	for name, value := range w.object(ref.Value, "", 0).(map[string]any) {
		if text, ok := value.(string); ok {
			fields.Add(name, text)
		} else {
			data, _ := json.Marshal(value)
			fields.Add(name, string(data))
		}
	}
	for w.one(6) { // add duplicate and unknown fields
		fields.Add(pick(w.choices, []string{"grant_type", "client_id", "scope", "x"}), pick(w.choices, junk))
	}
	text := fields.Encode()
	if w.one(10) && text != "" {
		text = text[:w.below(len(text))] + pick(w.choices, junk)
	}
	return text
}

// fill adds members to an object whose schema allows arbitrary members; the object's name selects them.
func (w *world) fill(out map[string]any, name string, of *openapi3.SchemaRef, depth int) {
	switch {
	case name == "profile" && !w.one(6):
		login := fmt.Sprintf("%s%d@example.com", pick(w.choices, []string{"a", "B", "é", "x+y"}), w.below(200))
		for _, member := range []string{"login", "email", "firstName", "lastName", "name"} {
			if !w.one(8) {
				out[member] = login
			}
		}
		for range w.below(3) {
			out[pick(w.choices, attributes)] = w.anything(maxDepth)
		}
	case name == "app":
		for _, member := range []string{"url", "authURL", "targetURL", "usernameField", "passwordField", "buttonField"} {
			out[member] = "https://example.com/" + pick(w.choices, names)
		}
	default:
		for range w.below(3) {
			out[pick(w.choices, append(attributes, names...))] = w.value(of, "", depth+1)
		}
	}
}

// attributes are names of members of profiles.
var attributes = []string{"nickName", "mobilePhone", "secondEmail", "title", "manager", "preferredLanguage", "description", "userType",
	"hat", "sizes", "userName", "email", "", "__proto__", "a.b"}

func (w *world) text(s *openapi3.Schema, name string) string {
	switch {
	case w.one(12):
		return pick(w.choices, junk)
	case s.Format == "date-time":
		return w.env.Clock.Now().Add(time.Duration(w.below(10000)-5000) * time.Hour).Format(time.RFC3339)
	case strings.HasSuffix(strings.ToLower(name), "id") || strings.HasSuffix(strings.ToLower(name), "token") || w.one(6):
		return w.id(name)
	}
	switch strings.ToLower(name) {
	case "login", "email", "username":
		return fmt.Sprintf("u%d@example.com", w.below(100))
	case "value", "password":
		return pick(w.choices,
			[]string{"Correct-horse-7", "Correct-horse-8", "weak", w.expression(), "qaMqvAPULkbiQzkTCWo5XDcvzpk8Tna",
				"xjrauE6J6kbjcvMjWSSc+PsBBls8Pdy5uPL5XbSRnSg="})
	case "expression", "template":
		return w.expression()
	case "name", "label", "displayname", "title", "question", "answer":
		return fmt.Sprintf("name%d", w.below(60))
	case "baseurl", "url", "uri":
		return pick(w.choices, []string{"https://example.com/scim", "http://127.0.0.1:1", "ftp://x", "https://", "javascript:alert(1)"})
	case "salt":
		return pick(w.choices, []string{"rwh3vH166HCH/NT9XV5FYu", "UEO3wsAsgzQ="})
	}
	return pick(w.choices, names)
}

func (w *world) number(s *openapi3.Schema) any {
	low, high := 0, 100
	if s.Min != nil {
		low = int(max(*s.Min, -1e9))
	}
	if s.Max != nil {
		high = int(min(*s.Max, 1e9))
	}
	switch w.below(10) {
	case 0:
		return low - 1
	case 1:
		return json.Number(pick(w.choices, []string{"1e400", "-0", "9223372036854775808", "0.5", "1e3", "-2147483649"}))
	default:
		return low + w.below(max(high-low, 0)+1)
	}
}

// anything returns an arbitrary value.
func (w *world) anything(depth int) any {
	switch n := w.below(9); {
	case n == 0:
		return nil
	case n == 1:
		return w.one(2)
	case n == 2:
		return w.below(1000) - 500
	case n == 3:
		return json.Number(pick(w.choices, []string{"1e400", "-0", "12345678901234567890", "1.5"}))
	case n == 4 && depth < maxDepth:
		return []any{w.anything(depth + 1), w.anything(depth + 1)}
	case n == 5 && depth < maxDepth:
		return map[string]any{pick(w.choices, attributes): w.anything(depth + 1), pick(w.choices, names): w.anything(depth + 1)}
	case n == 6:
		return w.id("")
	case n == 7:
		return pick(w.choices, junk)
	default:
		return pick(w.choices, names)
	}
}

// broken returns the value as JSON. In up to one of five cases, the JSON is malformed: it is truncated, written twice, deeply nested, or
// has duplicate members, a byte order mark or invalid characters.
func (w *world) broken(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	body := string(text)
	switch w.below(40) {
	case 0:
		return body[:w.below(len(body))]
	case 1:
		at := w.below(len(body))
		return body[:at] + "\xff" + body[at:]
	case 2:
		return body + body
	case 3:
		return strings.Repeat("[", 20000)
	case 4:
		return strings.Repeat(`{"profile":`, 3000) + "1" + strings.Repeat("}", 3000)
	case 5:
		return "\ufeff" + body
	case 6:
		return strings.Replace(body, "{", `{"profile":1,"profile":{},`, 1)
	case 7:
		return strings.Replace(body, `"`, `"\ud800`, 1)
	default:
		return body
	}
}

// header returns additional headers of a request, often none.
func (w *world) header() map[string]string {
	switch w.below(50) {
	case 0:
		return map[string]string{
			"Content-Type": pick(w.choices,
				[]string{"text/plain", "application/json; charset=x", "application/xml", ";", "application/json; svc-response=\"omitCredentials,x\""})}
	case 1:
		return map[string]string{"Accept": pick(w.choices, []string{"text/html", "*/*;q=0", "application/*", ",,", "application/xml"})}
	case 2:
		return map[string]string{"If-Match": pick(w.choices, []string{`W/"x"`, "*", `"`, `W/"1"`})}
	case 3:
		return map[string]string{
			"Authorization": pick(w.choices, []string{"", "SSWS", "SSWS x", "Bearer x.y.z", "Basic Og==", "ssws " + apitest.Token})}
	default:
		return nil
	}
}
