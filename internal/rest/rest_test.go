package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/scim"
)

// echo is a request with every kind of member.
type echo struct {
	ID    string  `path:"id" doc:"Id."`
	Flag  bool    `query:"flag" default:"true" doc:"A switch."`
	Limit int     `query:"limit" default:"5" min:"1" max:"10" clamp:"true" doc:"A size."`
	Ratio float64 `query:"ratio" min:"0" max:"1" doc:"A ratio."`
	Mode  string  `query:"mode" enum:"A,B" doc:"A mode."`
	Match string  `header:"If-Match" doc:"A tag."`
	Body  content `body:"required"`
}

type content struct {
	Name     string            `json:"name" required:"true" min:"2" max:"4" doc:"A name."`
	URL      *string           `json:"url" empty:"absent" doc:"A URL."`
	Count    int               `json:"count" default:"7" min:"0" max:"100" doc:"A number."`
	Small    int32             `json:"small" doc:"A small number."`
	On       bool              `json:"on" default:"true" doc:"A switch."`
	At       *rest.Time        `json:"at" doc:"A time."`
	Std      time.Time         `json:"std,omitzero" doc:"Another time."`
	Tags     []string          `json:"tags" enum:"x,y" max:"3" doc:"Tags."`
	Labels   map[string]string `json:"labels" max:"2" doc:"Labels."`
	Inner    *inner            `json:"inner" doc:"An object."`
	Many     []inner           `json:"many" doc:"Objects."`
	Anything any               `json:"anything" doc:"Anything."`
	Created  string            `json:"created" readOnly:"true" doc:"Read-only."`
	Secret   string            `json:"-"`
}

type inner struct {
	Value string `json:"value" required:"true" doc:"A value."`
	Kind  string `json:"kind,omitempty"`
}

// MoreTags implements rest.Described.
func (inner) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{"kind": `enum:"P,Q" doc:"A kind."`, "value": `doc:"Overridden by the tag of the field."`}
}

type unknownTag struct {
	ID string `path:"id" doc:"Id."`
}

func (unknownTag) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{"ix": `doc:"No member."`}
}

func checkEcho(_ context.Context, r *echo, c *rest.Causes) error {
	if r.Body.Name == "bad" || r.Body.Name == "both" {
		c.Add("name", "bad names are rejected")
	}
	if r.Body.Name == "fail" || r.Body.Name == "both" {
		return errors.New("the store is unavailable")
	}
	return nil
}

type nothing struct {
	ID string `path:"id" doc:"Id."`
}

type guard struct{}

func (guard) Authenticate(r *http.Request) (rest.Principal, error) {
	if r.Header.Get("Authorization") == "" {
		return rest.Principal{}, rest.Fail(rest.CodeNoCredentials)
	}
	return rest.Principal{UserID: "u"}, nil
}

func (guard) Authorize(ctx context.Context, p rest.Principal, op rest.Info) error {
	if op.ID == "forbidden" || p != rest.Caller(ctx) {
		return rest.Fail(rest.CodeForbidden)
	}
	return nil
}

type noLimits struct{}

func (noLimits) Take(string, string) rest.Quota { return rest.Quota{} }

func failing(id, path string, do func() error) rest.Route {
	return rest.Op[nothing, rest.NoContent]{
		ID: id, Route: "GET " + path + "/{id}", Tag: "t", Summary: "s", Scopes: []string{"x"},
		Do: func(context.Context, *nothing) (rest.NoContent, error) { return rest.NoContent{}, do() },
	}
}

func routes() []rest.Route {
	find := func(_ context.Context, r *echo) error {
		if r.ID == "gone" {
			return rest.NotFound("Thing", r.ID)
		}
		return nil
	}
	do := func(_ context.Context, r *echo) (content, error) { return r.Body, nil }
	return []rest.Route{
		rest.Op[echo, content]{ID: "echo", Route: "POST /api/v1/things/{id}", Tag: "t", Summary: "s", Scopes: []string{"x"}, Find: find,
			Check: checkEcho,
			Do:    do},
		rest.Op[echo, content]{ID: "forbidden", Route: "PUT /api/v1/things/{id}", Tag: "t", Summary: "s", Scopes: []string{"x"}, Find: find,
			Check: checkEcho,
			Do:    do},
		rest.Op[nothing, rest.Empty]{ID: "bodyless", Route: "POST /api/v1/things/{id}/touch", Tag: "t", Summary: "s", Scopes: []string{"x"},
			Do: func(context.Context, *nothing) (rest.Empty, error) { return rest.Empty{}, nil }},
		rest.Op[nothing, content]{ID: "path", Route: "GET /api/v1/things/{id}", Tag: "t", Summary: "s", Scopes: []string{"x"},
			Do: func(_ context.Context, r *nothing) (content, error) { return content{Name: r.ID}, nil }},
		rest.Op[struct{}, content]{ID: "literal", Route: "GET /api/v1/things/special", Tag: "t", Summary: "s", Scopes: []string{"x"},
			Do: func(context.Context, *struct{}) (content, error) { return content{Name: "literal"}, nil }},
		failing("panics", "/api/v1/panics", func() error { panic("the roof is on fire") }),
		failing("breaks", "/api/v1/breaks", func() error { return errors.New("secret detail") }),
		failing("unique", "/api/v1/unique", func() error { return fmt.Errorf("x: %w", &docstore.UniqueError{Collection: "c", Index: "name"}) }),
		failing("cursor", "/api/v1/cursor", func() error { return fmt.Errorf("x: %w", docstore.ErrBadCursor) }),
		failing("filter", "/api/v1/filter", func() error { return scim.Errorf(400, scim.InvalidFilter, "at 3") }),
		rest.Op[nothing, any]{ID: "unwritable", Route: "GET /api/v1/unwritable/{id}", Tag: "t", Summary: "s", Scopes: []string{"x"},
			Do: func(context.Context, *nothing) (any, error) { return func() {}, nil }},
	}
}

func serve(t testing.TB, log *bytes.Buffer) *rest.Handler {
	t.Helper()
	h, err := rest.NewHandler(routes(),
		rest.Options{Guard: guard{}, Limiter: noLimits{}, BaseURL: "https://svc.example.com/", Logger: slog.New(slog.NewTextHandler(log, nil)),
			MaxBody: 4096})
	require.NoError(t, err)
	return h
}

func send(h http.Handler, do, body string, header ...string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(do, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "x")
	if body != "" {
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBody_BoundByTags(t *testing.T) {
	h := serve(t, &bytes.Buffer{})
	url := "https://x"
	at := rest.TimeOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)))
	for _, c := range []struct {
		name, body string
		want       content
	}{
		{"defaults", `{"name":"ab"}`, content{Name: "ab", Count: 7, On: true}},
		{"null is absent", `{"name":"ab","url":null,"count":null,"on":null,"tags":null,"inner":null,"labels":null,"at":null}`,
			content{Name: "ab", Count: 7, On: true}},
		{"empty text that counts as absent", `{"name":"ab","url":""}`, content{Name: "ab", Count: 7, On: true}},
		{"everything",
			`{"name":"äöüß","url":"https://x","count":0,"on":false,"at":"2026-01-02T03:04:05+01:00","tags":["x","y"],"labels":{"a":"b"},` +
				`"inner":{"value":"v"},"many":[{"value":"w"}],"anything":{"a":[1.50]}}`,
			content{Name: "äöüß", URL: &url, Count: 0, At: &at, Tags: []string{"x", "y"}, Labels: map[string]string{"a": "b"},
				Inner: &inner{Value: "v"},
				Many:  []inner{{Value: "w"}}, Anything: map[string]any{"a": []any{json.Number("1.50")}}}},
		{"integers in decimal notation", `{"name":"ab","count":1e1}`, content{Name: "ab", Count: 10, On: true}},
		{"unknown and read-only members are ignored", `{"name":"ab","created":5,"more":{}}`, content{Name: "ab", Count: 7, On: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := send(h, "POST /api/v1/things/1?flag=&limit=", c.body)
			require.Equal(t, 200, w.Code, "%s", w.Body)
			want, err := json.Marshal(c.want)
			require.NoError(t, err)
			require.JSONEq(t, string(want), w.Body.String())
		})
	}
}

func TestErrors_CollectAllCauses(t *testing.T) {
	h := serve(t, &bytes.Buffer{})
	for _, c := range []struct {
		name, query, body string
		want              []string
	}{
		{"parameters and members", "?flag=x&limit=0&ratio=2&mode=C", `{"name":"a"}`, []string{
			"flag: The value must be true or false", "limit: The value must be a positive integer", "ratio: The value must be between 0 and 1",
			"mode: The value must be one of: A, B", "name: The field must have between 2 and 4 characters"}},
		{"wrong types", "", `{"name":1,"url":[],"count":"5","small":1.5,"on":"true","at":"x","tags":{},"labels":[],"inner":"x","many":[1]}`,
			[]string{
				"name: The value must be a string", "url: The value must be a string", "count: The value must be an integer",
				"small: The value must be an integer",
				"on: The value must be true or false", "at: The value must be an RFC 3339 timestamp", "tags: The value must be an array",
				"labels: The value must be an object",
				"inner: The value must be an object", "many[0]: The value must be an object"}},
		{"bounds", "", `{"name":"ab","count":101,"small":99999999999,"tags":["x","x","x","x"],"labels":{"a":"","b":"","c":""},"many":[{}]}`,
			[]string{
				"count: The value must be between 0 and 100", "small: The value must be an integer", "tags: The field must have at most 3 elements",
				"labels: The field must have at most 2 elements", "many[0].value: The field cannot be left blank"}},
		{"tags of a method", "", `{"name":"ab","inner":{"value":"x","kind":"R"}}`, []string{"inner.kind: The value must be one of: P, Q"}},
		{"inside of lists and maps", "", `{"name":"ab","tags":["z",null],"labels":{"b":1,"a":2}}`, []string{
			"tags[0]: The value must be one of: x, y", "tags[1]: The value must be a string", "labels.a: The value must be a string",
			"labels.b: The value must be a string"}},
		{"rules beyond tags", "", `{"name":"bad","count":-1}`,
			[]string{"count: The value must be between 0 and 100", "name: bad names are rejected"}},
		{"blank", "", `{"name":""}`, []string{"name: The field cannot be left blank"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := send(h, "POST /api/v1/things/1"+c.query, c.body)
			require.Equal(t, 400, w.Code, "%s", w.Body)
			var body rest.ErrorBody
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			require.Equal(t, "E0000001", body.ErrorCode)
			first, _, _ := strings.Cut(c.want[0], ":")
			require.Equal(t, "Api validation failed: "+first, body.ErrorSummary)
			var got []string
			for _, cause := range body.ErrorCauses {
				got = append(got, cause.ErrorSummary)
			}
			require.Empty(t, cmp.Diff(c.want, got))
		})
	}
}

// A failure of Check is an internal error, and is returned only for a request without causes.
func TestCheck_CausesBeforeFailure(t *testing.T) {
	var log bytes.Buffer
	h := serve(t, &log)
	require.Equal(t, 400, send(h, "POST /api/v1/things/1", `{"name":"both"}`).Code)
	require.NotContains(t, log.String(), "the store is unavailable")
	require.Equal(t, 500, send(h, "POST /api/v1/things/1", `{"name":"fail"}`).Code)
	require.Contains(t, log.String(), "the store is unavailable")
}

func TestHandler_CheckOrder(t *testing.T) {
	h := serve(t, &bytes.Buffer{})
	for _, c := range []struct {
		name, do, body string
		header         []string
		status         int
		code           string
	}{
		{"authentication before path", "PATCH /nowhere", "{", []string{"Authorization", ""}, 403, "E0000005"},
		{"path before method", "PATCH /nowhere", "{", nil, 404, "E0000008"},
		{"method before Accept header", "PATCH /api/v1/things/gone", "{", nil, 405, "E0000022"},
		{"Accept header before permission", "PUT /api/v1/things/gone", "{", []string{"Accept", "text/html"}, 406, "E0000122"},
		{"permission before entity", "PUT /api/v1/things/gone", "{", nil, 403, "E0000006"},
		{"entity before media type", "POST /api/v1/things/gone?limit=x", "{", nil, 404, "E0000007"},
		{"media type before body", "POST /api/v1/things/1?limit=x", "{", []string{"Content-Type", "application/xml"}, 400, "E0000021"},
		{"malformed body", "POST /api/v1/things/1?limit=x", "{", nil, 400, "E0000003"},
		{"body too large", "POST /api/v1/things/1?limit=x", `{"name":"` + strings.Repeat("x", 5000) + `"}`, nil, 400, "E0000003"},
		{"missing body", "POST /api/v1/things/1?limit=x", " ", nil, 400, "E0000003"},
		{"validation of parameters and members", "POST /api/v1/things/1?limit=x", "{}", nil, 400, "E0000001"},
		{"invalid UTF-8 is not JSON", "POST /api/v1/things/1", "{\"name\":\"\xff\"}", nil, 400, "E0000003"},
		{"a value that is taken", "GET /api/v1/unique/1", "", nil, 400, "E0000001"},
		{"a bad cursor", "GET /api/v1/cursor/1", "", nil, 400, "E0000029"},
		{"a bad filter", "GET /api/v1/filter/1", "", nil, 400, "E0000031"},
		{"an absent body needs no media type", "POST /api/v1/things/1/touch", "", []string{"Content-Type", "text/plain"}, 200, ""},
		{"an ignored body needs a media type", "POST /api/v1/things/1/touch", "x", []string{"Content-Type", "text/plain"}, 400, "E0000021"},
		{"an ignored body may be any JSON", "POST /api/v1/things/1/touch", "{}", nil, 200, ""},
		{"JSON with a weight is accepted", "GET /api/v1/things/1", "", []string{"Accept", "text/html, application/*;q=0.1"}, 200, ""},
		{"JSON with weight zero is rejected", "GET /api/v1/things/1", "", []string{"Accept", "text/html, application/json;q=0"}, 406, "E0000122"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := send(h, c.do, c.body, c.header...)
			require.Equal(t, c.status, w.Code, "%s", w.Body)
			var body rest.ErrorBody
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			require.Equal(t, c.code, body.ErrorCode)
			if c.status == 405 {
				require.Equal(t, "GET, POST, PUT", w.Header().Get("Allow"))
			}
		})
	}
}

func TestPath_UnescapedOnce(t *testing.T) {
	h := serve(t, &bytes.Buffer{})
	for sent, want := range map[string]string{
		"a%40b": "a@b", "a+b": "a+b", "a%2Bb": "a+b", "a%20b": "a b", "a%2Fb": "a/b", "a%252Fb": "a%2Fb", "special": "literal",
		"special/": "literal", "x//": "x", "%C3%BC": "ü", "a:b": "a:b", "a..b": "a..b",
	} {
		w := send(h, "GET /api/v1/things/"+sent, "")
		require.Equal(t, 200, w.Code, "%s: %s", sent, w.Body)
		var got content
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		require.Equal(t, want, got.Name, sent)
	}
}

// TestInternalError_LoggedWithID checks that the log has the cause of an internal error under the error id that the caller receives.
func TestInternalError_LoggedWithID(t *testing.T) {
	for path, cause := range map[string]string{"panics": "the roof is on fire", "breaks": "secret detail", "unwritable": "unsupported type"} {
		t.Run(path, func(t *testing.T) {
			var log bytes.Buffer
			w := send(serve(t, &log), "GET /api/v1/"+path+"/1", "")
			require.Equal(t, 500, w.Code)
			var body rest.ErrorBody
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			require.Equal(t, "E0000009", body.ErrorCode)
			require.Regexp(t, `^oae[0-9A-Za-z_-]{22}$`, body.ErrorID)
			require.NotContains(t, w.Body.String(), cause)
			require.Contains(t, log.String(), cause)
			require.Contains(t, log.String(), body.ErrorID)
			require.Contains(t, log.String(), w.Header().Get(rest.HeaderRequestID))
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		})
	}
}

// TestDebugLog_OneLinePerRequest checks that the handler logs each request in one line, without credentials, ids and queries.
func TestDebugLog_OneLinePerRequest(t *testing.T) {
	for do, want := range map[string]string{
		"GET /api/v1/breaks/id-of-a-user?q=who": "method=GET route=/api/v1/breaks/{id} status=500",
		"GET /nowhere/id-of-a-user":             `method=GET route="" status=404`,
	} {
		t.Run(do, func(t *testing.T) {
			var log bytes.Buffer
			h, err := rest.NewHandler(routes(),
				rest.Options{Guard: guard{}, Limiter: noLimits{},
					Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			require.NoError(t, err)
			w := send(h, do, "", "Authorization", "top-secret")
			line := regexp.MustCompile(`(?m)^.*level=DEBUG msg=request.*$`).FindAllString(log.String(), -1)
			require.Len(t, line, 1)
			require.Contains(t, line[0], want)
			require.Contains(t, line[0], "request_id="+w.Header().Get(rest.HeaderRequestID))
			require.Contains(t, line[0], "duration=")
			require.NotContains(t, log.String(), "top-secret")
			require.NotContains(t, log.String(), "id-of-a-user")
		})
	}
}

func TestNewHandler_RejectsInvalidRoutes(t *testing.T) {
	op := func(change func(*rest.Op[nothing, rest.NoContent])) rest.Route {
		o := rest.Op[nothing, rest.NoContent]{ID: "a", Route: "GET /api/v1/x/{id}", Tag: "t", Summary: "s", Scopes: []string{"x"},
			Do: func(context.Context, *nothing) (rest.NoContent, error) { return rest.NoContent{}, nil }}
		change(&o)
		return o
	}
	type badTag struct {
		A int `query:"a" min:"x"`
	}
	type badType struct {
		Body struct {
			C chan int `json:"c"`
		} `body:"required"`
	}
	type untagged struct {
		Body struct{ A string } `body:"required"`
	}
	for want, routes := range map[string][]rest.Route{
		"has no ID":                        {op(func(o *rest.Op[nothing, rest.NoContent]) { o.ID = "" })},
		"is not a method and a path":       {op(func(o *rest.Op[nothing, rest.NoContent]) { o.Route = "FETCH /x" })},
		"requires a scope":                 {op(func(o *rest.Op[nothing, rest.NoContent]) { o.Scopes = nil })},
		"is public":                        {op(func(o *rest.Op[nothing, rest.NoContent]) { o.Public = true })},
		"does not take variable \"other\"": {op(func(o *rest.Op[nothing, rest.NoContent]) { o.Route = "GET /x/{id}/{other}" })},
		"has no variable \"id\"":           {op(func(o *rest.Op[nothing, rest.NoContent]) { o.Route = "GET /x" })},
		"two operations have the ID a": {op(func(*rest.Op[nothing, rest.NoContent]) {}),
			op(func(o *rest.Op[nothing, rest.NoContent]) { o.Route = "PUT /x/{id}" })},
		"have the same route": {op(func(*rest.Op[nothing, rest.NoContent]) {}),
			op(func(o *rest.Op[nothing, rest.NoContent]) { o.ID = "b" })},
		"tag min":                        {broken[badTag]()},
		"chan int has no OpenAPI schema": {broken[badType]()},
		"has no json tag":                {broken[untagged]()},
		"MoreTags has the member ix":     {broken[unknownTag]()},
	} {
		_, err := rest.NewHandler(routes, rest.Options{Guard: guard{}, Limiter: noLimits{}})
		require.ErrorContains(t, err, want)
	}
}

func broken[Req any]() rest.Route {
	return rest.Op[Req, rest.NoContent]{ID: "a", Route: "POST /x", Tag: "t", Summary: "s", Scopes: []string{"x"},
		Do: func(context.Context, *Req) (rest.NoContent, error) { return rest.NoContent{}, nil }}
}

func TestDocument_ReflectsTags(t *testing.T) {
	doc := document(t, serve(t, &bytes.Buffer{}), "t", "v")
	s := doc.Components.Schemas["Content"].Value
	require.Equal(t, []string{"name", "created"}, s.Required)
	require.Equal(t, uint64(2), s.Properties["name"].Value.MinLength)
	require.Equal(t, uint64(4), *s.Properties["name"].Value.MaxLength)
	require.True(t, s.Properties["created"].Value.ReadOnly)
	require.True(t, s.Properties["inner"].Value.Nullable)
	require.EqualValues(t, 7, s.Properties["count"].Value.Default)
	require.Equal(t, []any{"x", "y"}, s.Properties["tags"].Value.Items.Value.Enum)
	require.NotContains(t, s.Properties, "Secret")
	described := doc.Components.Schemas["Inner"].Value.Properties
	require.Equal(t, "A kind.", described["kind"].Value.Description)
	require.Equal(t, []any{"P", "Q"}, described["kind"].Value.Enum)
	require.Equal(t, "A value.", described["value"].Value.Description)
	op := doc.Paths.Find("/api/v1/things/{id}").Post
	require.Len(t, op.Parameters, 6)
	require.True(t, op.RequestBody.Value.Required)
	require.Equal(t, []any{"x"}, op.Extensions["x-svc-scopes"])
}

func FuzzHandler_Body(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"ab","tags":["x"],"labels":{"a":"b"}}`, `{"name":`, `[]`, `{"count":1e400}`,
		`{"count":9223372036854775808}`, `{"at":""}`, `{"many":[{},null]}`, `{"inner":{"value":null}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := send(serve(t, &bytes.Buffer{}), "POST /api/v1/things/1", body)
		require.Less(t, w.Code, 500, "%s", w.Body)
	})
}
