package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Step is a request with the expected content of its response. In Do, Body, Header and the expected values, {{name}} represents a saved
// value.
type Step struct {
	// Name describes what the step tests.
	Name string
	// Do is a method and a path, or a method and an absolute URL.
	Do   string
	Body string
	// Header sets request headers. An empty value omits a header, including the defaults: Authorization with Token, and Content-Type with a
	// body.
	Header map[string]string
	// Status is the expected status. Default: 200.
	Status int
	// Code is the expected error code, or the error of an OAuth endpoint; empty for success.
	Code string
	// Causes are the expected prefixes of all causes of the error, in order.
	Causes []string
	// Equal maps paths in the response, see Value, to expected values. Numbers are int.
	Equal map[string]any
	// Has and Lacks list paths that must be present and absent in the response.
	Has, Lacks []string
	// Save maps names to paths in the response, see Value. The value at each path is saved under the name.
	Save map[string]string
	// Then is a function that runs after the checks of the response.
	Then func(t *testing.T, a *Answer)
}

// Answer is a response that was checked against the document.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	JSON   any
}

// Run runs the steps in order, each as a subtest. The first failure stops the scenario. Run returns the saved values.
func (e *Env) Run(t *testing.T, steps ...Step) map[string]string {
	t.Helper()
	saved := map[string]string{}
	for i, step := range steps {
		name := step.Name
		if name == "" {
			name = fmt.Sprintf("%d %s", i+1, step.Do)
		}
		if !t.Run(name, func(t *testing.T) { e.step(t, step, saved) }) {
			t.FailNow()
		}
	}
	return saved
}

func (e *Env) step(t *testing.T, s Step, saved map[string]string) {
	t.Helper()
	a := e.Do(t, fill(t, s.Do, saved), fill(t, s.Body, saved), fillAll(t, s.Header, saved))
	want := s.Status
	if want == 0 {
		want = http.StatusOK
	}
	require.Equal(t, want, a.Status, "status; the body is %s", a.Body)
	if want >= http.StatusBadRequest {
		code := a.Value("errorCode")
		if a.oauth() {
			code = a.Value("error")
		}
		require.Equal(t, s.Code, code, "error code; the body is %s", a.Body)
	}
	if s.Causes != nil {
		causes, _ := a.at("errorCauses")
		list, _ := causes.([]any)
		require.Len(t, list, len(s.Causes), "causes; the body is %s", a.Body)
		for i, begins := range s.Causes {
			require.True(t, strings.HasPrefix(a.Value(fmt.Sprintf("errorCauses.%d.errorSummary", i)), begins),
				"cause %d must start with %q; the body is %s", i, begins, a.Body)
		}
	}
	for path, value := range s.Equal {
		if text, ok := value.(string); ok {
			value = fill(t, text, saved)
		}
		got, ok := a.at(path)
		require.True(t, ok, "the response has no %s; the body is %s", path, a.Body)
		require.Equal(t, plain(value), plain(got), "%s; the body is %s", path, a.Body)
	}
	for _, path := range s.Has {
		_, ok := a.at(path)
		require.True(t, ok, "the response has no %s; the body is %s", path, a.Body)
	}
	for _, path := range s.Lacks {
		_, ok := a.at(path)
		require.False(t, ok, "the response has %s; the body is %s", path, a.Body)
	}
	for name, path := range s.Save {
		_, ok := a.at(path)
		require.True(t, ok, "the response has no %s to save; the body is %s", path, a.Body)
		saved[name] = a.Value(path)
	}
	if s.Then != nil {
		s.Then(t, a)
	}
}

// Do sends one request and checks the response against the document. The header has the form of Step.Header.
func (e *Env) Do(t testing.TB, do, body string, header map[string]string) *Answer {
	t.Helper()
	method, url, _ := strings.Cut(do, " ")
	if strings.HasPrefix(url, "/") {
		url = e.Server.URL + url
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "SSWS "+Token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := e.Server.Client().Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	a := &Answer{Status: response.StatusCode, Header: response.Header, Body: data}
	if len(data) > 0 && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		require.NoError(t, json.Unmarshal(data, &a.JSON), "the body is %s", data)
	}
	operation := e.check(t, r, a)
	if operation != "" && a.Status < http.StatusBadRequest && !e.unrecorded {
		seen.add(operation, t.Name(), e.logged(t, a.Header.Get("X-Svc-Request-Id"))...)
	}
	return a
}

// newest is the page size of the search for the log events of a request, newest first.
const newest = 50

// logged lists the types of the log events of a request. These are the newest events, except for those of concurrent requests.
func (e *Env) logged(t testing.TB, request string) []string {
	t.Helper()
	var types []string
	for after := ""; ; {
		page, err := e.Model.LogEvents.Query(t.Context(), e.Store.Reader(), docstore.Query[model.LogEvent]{
			OrderBy: docstore.ID, Desc: true, After: after, Limit: newest,
		})
		require.NoError(t, err)
		ours := false
		for _, doc := range page.Docs {
			if ours = doc.Value.Transaction == request; ours && !slices.Contains(types, doc.Value.Type) {
				types = append(types, doc.Value.Type)
			}
		}
		if after = page.Next; !ours || after == "" {
			return types
		}
	}
}

// check checks the response against the OpenAPI document and returns the operation, "" if the document has none.
func (e *Env) check(t testing.TB, r *http.Request, a *Answer) string {
	t.Helper()
	require.NotEmpty(t, a.Header.Get("X-Svc-Request-Id"))
	require.Equal(t, "no-cache, no-store", a.Header.Get("Cache-Control"))
	require.NotEmpty(t, a.Header.Get("Date"))
	// the document describes the error body of OAuth endpoints, so the router below checks it
	if a.Status >= http.StatusBadRequest && !a.oauth() {
		schema := e.document.Components.Schemas["ErrorBody"].Value
		require.NoError(t, schema.VisitJSON(a.JSON, openapi3.VisitAsResponse()), "the error body is %s", a.Body)
		require.Equal(t, a.Value("errorCode"), a.Value("errorLink"))
	}
	if e.isMounted(r) {
		return ""
	}
	plain := r.Clone(t.Context()) // remove trailing slashes, which no path of the document has
	plain.URL.Path, plain.URL.RawPath = strings.TrimRight(r.URL.Path, "/"), strings.TrimRight(r.URL.RawPath, "/")
	route, params, err := e.router.FindRoute(plain)
	if err != nil { // the document has no such path or method: the response must be an error
		allowed := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized, http.StatusForbidden,
			http.StatusNotImplemented}
		if a.oauth() {
			allowed = append(allowed, http.StatusBadRequest) // the status of an endpoint of an authorization server that is not active
		}
		require.Contains(t, allowed, a.Status, "%s: %v", r.URL, err)
		return ""
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 a.Status,
		Header:                 a.Header,
		Body:                   io.NopCloser(bytes.NewReader(a.Body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	})
	require.NoError(t, err, "the response does not match the document; the body is %s", a.Body)
	return route.Operation.OperationID
}

// oauth reports whether the response is an error of an OAuth endpoint.
func (a *Answer) oauth() bool {
	_, there := a.at("error")
	return there && a.Status >= http.StatusBadRequest
}

// Value returns a value of the response as a string, "" if absent. A path consists of names and indexes, separated by dots
// ("profile.login", "0.id"). "#" is the number of elements, "header:Name" a header, "link:next" the URL of a relation.
func (a *Answer) Value(path string) string {
	value, _ := a.at(path)
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func (a *Answer) at(path string) (any, bool) {
	if name, ok := strings.CutPrefix(path, "header:"); ok {
		value := a.Header.Get(name)
		return value, value != ""
	}
	if rel, ok := strings.CutPrefix(path, "link:"); ok {
		return a.link(rel)
	}
	value := a.JSON
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			inner, ok := v[name]
			if !ok {
				return nil, false
			}
			value = inner
		case []any:
			if name == "#" {
				value = float64(len(v))
				continue
			}
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func (a *Answer) link(rel string) (any, bool) {
	for _, line := range a.Header.Values("Link") {
		if url, ok := strings.CutSuffix(line, `>; rel="`+rel+`"`); ok {
			return strings.TrimPrefix(url, "<"), true
		}
	}
	return nil, false
}

// plain converts an int to float64, the type of the numbers in decoded JSON. It returns other values unchanged.
func plain(v any) any {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

func fill(t testing.TB, text string, saved map[string]string) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		value, ok := saved[strings.Trim(match, "{}")]
		require.True(t, ok, "nothing was saved as %s", match)
		return value
	})
}

func fillAll(t testing.TB, texts, saved map[string]string) map[string]string {
	t.Helper()
	out := make(map[string]string, len(texts))
	for name, text := range texts {
		out[name] = fill(t, text, saved)
	}
	return out
}
