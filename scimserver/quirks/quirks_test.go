package quirks_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

const token = "the-token"

func TestMain(m *testing.M) {
	code := sqldbtest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// service is a server with quirks on loopback, with two users and a group that contains one of them.
type service struct {
	quirks           *quirks.Switch
	client           *http.Client
	url              string
	ann, bob, people string // ids
}

func start(t *testing.T, settings ...string) *service {
	t.Helper()
	layout := scimstore.NewLayout("scim")
	docs, err := docstore.Open(t.Context(), sqldbtest.SQLite(t), time.Now, layout.Tables()...)
	require.NoError(t, err)
	h, err := scimserver.New(scimserver.Options{
		Store: scimstore.New(docs, layout), Tokens: scimserver.StaticTokens(token), Prefix: "/scim/v2", PasswordCost: 4,
	})
	require.NoError(t, err)
	s := &service{}
	s.quirks, err = quirks.New(h)
	require.NoError(t, err)
	server := httptest.NewServer(s.quirks)
	t.Cleanup(server.Close)
	s.client, s.url = server.Client(), server.URL+"/scim/v2"
	s.ann = s.ask(t, "POST /Users", `{"schemas":["`+scim.UserSchema+`"],"userName":"Ann","title":"Dr","active":true}`).text("id")
	s.bob = s.ask(t, "POST /Users", `{"schemas":["`+scim.UserSchema+`"],"userName":"bob","active":false}`).text("id")
	s.people = s.ask(t, "POST /Groups",
		`{"schemas":["`+scim.GroupSchema+`"],"displayName":"People","members":[{"value":"`+s.ann+`"}]}`).text("id")
	require.NotEmpty(t, s.people)
	parsed, err := quirks.ParseAll(settings)
	require.NoError(t, err)
	require.NoError(t, s.quirks.Set(parsed...))
	return s
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error // error of the connection or of reading the body
}

func (r reply) text(name string) string {
	o, err := scim.Decode([]byte(r.body))
	if err != nil {
		return ""
	}
	return o.Text(name)
}

// ask sends "METHOD path". ANN, BOB and PEOPLE are replaced by ids, and a query is not escaped.
func (s *service) ask(t *testing.T, call, body string) reply {
	t.Helper()
	fill := strings.NewReplacer("ANN", s.ann, "BOB", s.bob, "PEOPLE", s.people)
	method, path, _ := strings.Cut(fill.Replace(call), " ")
	path, query, found := strings.Cut(path, "?")
	if found {
		name, value, _ := strings.Cut(query, "=")
		path += "?" + url.Values{name: {value}}.Encode()
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(fill.Replace(body)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", scim.MediaType)
	res, err := s.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: string(data), err: err}
}

func patch(operations string) string {
	return `{"schemas":["` + scim.PatchOpMessage + `"],"Operations":[` + operations + `]}`
}

const (
	newUser  = `{"schemas":["` + scim.UserSchema + `"],"userName":"Cleo","title":"Prof"}`
	sameUser = `{"schemas":["` + scim.UserSchema + `"],"userName":"ann"}`
	newGroup = `{"schemas":["` + scim.GroupSchema + `"],"displayName":"New","members":[{"value":"ANN"}]}`
)

// Each row has a request and the response of a server with the quirk. A server without the quirk returns another response.
var examples = []struct {
	quirk, call, body string
	status            int
	has, lacks        string // of the response
	after             string // a request whose response shows the resulting state
	shows, hides      string
}{
	{quirk: "no-discovery", call: "GET /Schemas", status: 404},
	{quirk: "bulk-without-limits", call: "GET /ServiceProviderConfig", status: 200, has: `"bulk":{"supported":false}`},
	{quirk: "no-groups", call: "GET /Groups", status: 404, after: "GET /ResourceTypes", shows: `"/Users"`, hides: `"/Groups"`},
	{quirk: "no-patch", call: "PATCH /Users/ANN", body: patch(`{"op":"replace","path":"title","value":"x"}`), status: 501,
		after: "GET /ServiceProviderConfig", shows: `"patch":{"supported":false}`},
	{quirk: "patch-204", call: "PATCH /Users/ANN", body: patch(`{"op":"replace","path":"title","value":"x"}`), status: 204, lacks: "{",
		after: "GET /Users/ANN", shows: `"title":"x"`},
	{quirk: "patch-200", call: "PATCH /Groups/PEOPLE", body: patch(`{"op":"replace","path":"displayName","value":"x"}`), status: 200,
		has: `"displayName":"x"`},
	{quirk: "patch-members=1", call: "PATCH /Groups/PEOPLE",
		body: patch(`{"op":"add","path":"members","value":[{"value":"ANN"},{"value":"BOB"}]}`), status: 400},
	{quirk: "patch-members=1", call: "PATCH /Groups/PEOPLE", body: patch(`{"op":"add","value":{"members":[{"value":"ANN"},{"value":"BOB"}]}}`),
		status: 400},
	{quirk: "patch-needs-path", call: "PATCH /Users/ANN", body: patch(`{"op":"replace","value":{"title":"x"}}`), status: 400,
		has: "invalidPath"},
	{quirk: "no-value-path", call: "PATCH /Groups/PEOPLE", body: patch(`{"op":"remove","path":"members[value eq \"ANN\"]"}`), status: 400,
		has: "invalidPath"},
	{quirk: "no-members-replace", call: "PATCH /Groups/PEOPLE", body: patch(`{"op":"replace","path":"members","value":[]}`), status: 400},
	{quirk: "patch-lost", call: "PATCH /Users/ANN", body: patch(`{"op":"replace","path":"title","value":"x"}`), status: 200,
		has: `"title":"Dr"`},
	{quirk: "patch-add-replaces", call: "PATCH /Groups/PEOPLE", body: patch(`{"op":"Add","path":"members","value":[{"value":"BOB"}]}`),
		status: 204, after: "GET /Groups/PEOPLE", shows: "BOB", hides: "ANN"},
	{quirk: "no-put", call: "PUT /Users/ANN", body: newUser, status: 405},
	{quirk: "no-delete", call: "DELETE /Users/ANN", status: 405, after: "GET /Users/ANN", shows: "Ann"},
	{quirk: "partial-answers", call: "PUT /Users/ANN", body: newUser, status: 200, has: `"id"`, lacks: "Cleo", after: "GET /Users/ANN",
		shows: "Cleo"},
	{quirk: "put-lost", call: "PUT /Users/ANN", body: newUser, status: 200, has: "Cleo", after: "GET /Users/ANN", shows: `"Ann"`,
		hides: "Cleo"},
	{quirk: "ignores-attribute=title", call: "POST /Users", body: newUser, status: 201, lacks: "Prof"},
	{quirk: "ignores-attribute=title", call: "PATCH /Users/ANN", body: patch(`{"op":"replace","path":"title","value":"x"}`), status: 200,
		has: `"title":"Dr"`},
	{quirk: "ignores-attribute=title", call: "PATCH /Users/ANN", body: patch(`{"op":"replace","value":{"title":"x","nickName":"y"}}`),
		status: 200, has: `"nickName":"y"`, lacks: `"title":"x"`},
	{quirk: "ignores-attribute=name.givenName", call: "PATCH /Users/ANN",
		body: patch(`{"op":"add","path":"name","value":{"givenName":"x"}},{"op":"add","path":"name.givenName","value":"z"}`), status: 200,
		has: `"x"`, lacks: `"z"`},
	{quirk: "lower-user-name", call: "POST /Users", body: newUser, status: 201, has: `"cleo"`},
	{quirk: "lower-user-name", call: "PATCH /Users/ANN", body: patch(`{"op":"replace","path":"userName","value":"ZOE"}`), status: 200,
		has: `"zoe"`},
	{quirk: "conflict-400", call: "POST /Users", body: sameUser, status: 400, lacks: "scimType"},
	{quirk: "conflict-bare", call: "POST /Users", body: sameUser, status: 409, lacks: "scimType"},
	{quirk: "create-200", call: "POST /Users", body: newUser, status: 200, has: "Cleo"},
	{quirk: "lookup-lag=1m", call: "POST /Users", body: newUser, status: 201, after: `GET /Users?filter=userName eq "cleo"`,
		shows: `"totalResults":0`},
	{quirk: "create-empty", call: "POST /Users", body: newUser, status: 201, lacks: "{"},
	{quirk: "create-without-id", call: "POST /Users", body: newUser, status: 201, has: "Cleo", lacks: `"id"`},
	{quirk: "members-hidden", call: "GET /Groups/PEOPLE", status: 200, has: "People", lacks: "members"},
	{quirk: "unknown-members-dropped", call: "POST /Groups",
		body: `{"schemas":["` + scim.GroupSchema + `"],"displayName":"New","members":[{"value":"nobody"},{"value":"ANN"}]}`, status: 201,
		has: "ANN", lacks: "nobody"},
	{quirk: "unknown-members-dropped", call: "PATCH /Groups/PEOPLE",
		body: patch(`{"op":"add","path":"members","value":[{"value":"nobody"},{"value":"BOB"}]}`), status: 204, after: "GET /Groups/PEOPLE",
		shows: "BOB"},
	{quirk: "no-group-filter", call: `GET /Groups?filter=displayName eq "People"`, status: 400, has: "invalidFilter"},
	{quirk: "members-lost", call: "POST /Groups", body: newGroup, status: 201, has: "New", lacks: "members"},
	{quirk: "no-filter", call: `GET /Users?filter=userName eq "ann"`, status: 400, after: "GET /ServiceProviderConfig",
		shows: `"filter":{"supported":false`},
	{quirk: "no-external-id-filter", call: `GET /Users?filter=userName eq "ann" or externalId eq "x"`, status: 400},
	{quirk: "case-sensitive-user-name", call: `GET /Users?filter=userName eq "ann"`, status: 200, has: `"totalResults":0`,
		after: `GET /Users?filter=userName eq "Ann"`, shows: `"totalResults":1`},
	{quirk: "lookup-404", call: `GET /Users?filter=userName eq "nobody"`, status: 404, after: `GET /Users?filter=userName eq "ann"`,
		shows: "Ann"},
	{quirk: "max-page=1", call: "GET /Users?count=50", status: 200, has: `"totalResults":2,"startIndex":1,"itemsPerPage":1`},
	{quirk: "no-resources", call: `GET /Users?filter=userName eq "nobody"`, status: 200, lacks: "Resources"},
	{quirk: "filter-ignored", call: `GET /Users?filter=userName eq "nobody"`, status: 200, has: `"totalResults":2`},
	{quirk: "start-index-ignored", call: "GET /Users?startIndex=2", status: 200, has: "Ann"},
	{quirk: "total-of-page", call: "GET /Users?count=1", status: 200, has: `"totalResults":1,`},
	{quirk: "counts-as-strings", call: "GET /Users", status: 200, has: `"totalResults":"2"`},
	{quirk: "status-integer", call: "GET /Users/nobody", status: 404, has: `"status":404`},
	{quirk: "active-as-string", call: "GET /Users/BOB", status: 200, has: `"active":"False"`},
	{quirk: "lower-case-resources", call: "GET /Users", status: 200, has: `"resources":`},
	{quirk: "media-type=text/json", call: "GET /Users", status: 200, has: "Ann"},
	{quirk: "no-etag", call: "GET /Users/ANN", status: 200, has: "Ann", lacks: "version"},
	{quirk: "unauthorized", call: "GET /Users", status: 401},
	{quirk: "forbidden", call: "POST /Users", body: newUser, status: 403, after: "GET /Users", shows: "Ann", hides: "Cleo"},
	{quirk: "login-page", call: "GET /Users", status: 200, has: "Sign in"},
	{quirk: "rate-limit=7,p=1", call: "GET /Users", status: 429},
	{quirk: "rate-limit-date,p=1", call: "GET /Users", status: 429},
	{quirk: "rate-limit-bare,p=1", call: "GET /Users", status: 429},
	{quirk: "error=502,p=1,method=POST", call: "POST /Users", body: newUser, status: 502, after: "GET /Users", hides: "Cleo"},
	{quirk: "error-after,p=1,times=1", call: "POST /Users", body: newUser, status: 500, after: "GET /Users", shows: "Cleo"},
	{quirk: "truncated,p=1,times=1", call: "POST /Users", body: newUser, status: 201, after: "GET /Users", shows: "Cleo"},
	{quirk: "drop,p=1,method=POST", call: "POST /Users", body: newUser, after: "GET /Users", hides: "Cleo"},
	{quirk: "drop-after,p=1,method=POST", call: "POST /Users", body: newUser, after: "GET /Users", shows: "Cleo"},
}

// TestQuirks_MatchExamples checks that a server with a quirk returns the response in the example of the quirk, and that a server without
// the quirk returns another one.
func TestQuirks_MatchExamples(t *testing.T) {
	for _, e := range examples {
		t.Run(e.quirk+" "+e.call, func(t *testing.T) {
			s := start(t, e.quirk)
			got := s.ask(t, e.call, e.body)
			require.Equal(t, e.status, got.status, got.body)
			require.Contains(t, got.body, strings.ReplaceAll(e.has, "ANN", s.ann))
			if e.lacks != "" {
				require.NotContains(t, got.body, e.lacks)
			}
			if broken := strings.HasPrefix(e.quirk, "truncated") || e.status == 0; broken != (got.err != nil) {
				t.Fatalf("the connection: %v", got.err)
			}
			if e.after != "" {
				state := s.ask(t, e.after, "")
				require.Contains(t, state.body, s.fill(e.shows))
				if e.hides != "" {
					require.NotContains(t, state.body, s.fill(e.hides))
				}
			}

			plain := start(t).ask(t, e.call, e.body)
			same := plain.status == got.status && strings.Contains(plain.body, e.has) && (e.lacks == "" || !strings.Contains(plain.body, e.lacks))
			if e.after == "" && !strings.HasPrefix(e.quirk, "media-type") {
				require.False(t, same, "a correct server returns the same: %s", plain.body)
			}
		})
	}
}

func (s *service) fill(text string) string {
	return strings.NewReplacer("ANN", s.ann, "BOB", s.bob).Replace(text)
}

func TestQuirks_HaveExamples(t *testing.T) {
	elsewhere := []string{"latency", "hang", "hang-after"}
	shown := map[string]bool{}
	for _, e := range examples {
		name, _, _ := strings.Cut(e.quirk, ",")
		name, _, _ = strings.Cut(name, "=")
		shown[name] = true
	}
	for _, name := range elsewhere {
		shown[name] = true
	}
	seen := map[string]bool{}
	for _, q := range quirks.All() {
		require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, q.Name)
		require.False(t, seen[q.Name], "%s occurs twice", q.Name)
		seen[q.Name] = true
		require.True(t, shown[q.Name], "%s has no example: add a row to examples", q.Name)
		require.NotEmpty(t, q.Does)
		require.False(t, strings.HasSuffix(q.Does, "."), q.Name)
		require.True(t, q.Category != quirks.Profile || q.Seen != "", "%s: a quirk of the category profile needs Seen", q.Name)
	}
}

// TestRateLimit_RetryAfter checks that the rate limit quirks send Retry-After as a number, as a date or not at all.
func TestRateLimit_RetryAfter(t *testing.T) {
	s := start(t, "rate-limit=7,p=1")
	require.Equal(t, "7", s.ask(t, "GET /Users", "").header.Get("Retry-After"))
	s = start(t, "rate-limit-date=5,p=1")
	at, err := http.ParseTime(s.ask(t, "GET /Users", "").header.Get("Retry-After"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(5*time.Second), at, 2*time.Second)
	s = start(t, "rate-limit-bare,p=1")
	require.Empty(t, s.ask(t, "GET /Users", "").header.Values("Retry-After"))
}

func TestLatency_DelaysResponse(t *testing.T) {
	s := start(t, "latency=50ms,p=1")
	began := time.Now()
	require.Equal(t, http.StatusOK, s.ask(t, "GET /Users", "").status)
	require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}

func TestHang_StopsOnClientTimeout(t *testing.T) {
	for quirk, stored := range map[string]bool{"hang": false, "hang-after": true} {
		t.Run(quirk, func(t *testing.T) {
			s := start(t, quirk+",p=1,times=1")
			s.client.Timeout = 300 * time.Millisecond
			require.ErrorContains(t, s.ask(t, "POST /Users", newUser).err, "Client.Timeout")
			s.client.Timeout = 0
			require.Equal(t, stored, strings.Contains(s.ask(t, "GET /Users", "").body, "Cleo"))
		})
	}
}

// TestChaos_SeedAndProbability checks that the seed makes chaos repeatable, and that chaos follows its probability and its number of times.
func TestChaos_SeedAndProbability(t *testing.T) {
	run := func(setting string) (pattern string) {
		s := start(t, setting)
		for range 200 {
			if s.ask(t, "GET /Users?count=0", "").status == http.StatusServiceUnavailable {
				pattern += "x"
			} else {
				pattern += "."
			}
		}
		return pattern
	}
	first := run("error,p=0.3,seed=7")
	require.Equal(t, first, run("error,p=0.3,seed=7"))
	require.NotEqual(t, first, run("error,p=0.3,seed=8"))
	require.InDelta(t, 60, strings.Count(first, "x"), 30)
	require.Equal(t, "xxx"+strings.Repeat(".", 197), run("error,p=1,times=3"))
}

func TestQuirks_CombinedAndChangedAtRuntime(t *testing.T) {
	s := start(t, "status-integer", "no-patch")
	got := s.ask(t, "PATCH /Users/ANN", patch(`{"op":"remove","path":"title"}`))
	require.Contains(t, got.body, `"status":501`, "quirks apply in the order of the table")
	var texts []string
	for _, set := range s.quirks.Settings() {
		texts = append(texts, set.String())
	}
	require.Equal(t, []string{"no-patch", "status-integer"}, texts)
	require.NoError(t, s.quirks.Set())
	require.Equal(t, http.StatusOK, s.ask(t, "PATCH /Users/ANN", patch(`{"op":"remove","path":"title"}`)).status)
	require.ErrorContains(t, s.quirks.Set(quirks.Setting{Name: "no-put"}, quirks.Setting{Name: "no-put"}), "occurs twice")
	require.Empty(t, s.quirks.Settings(), "a rejected change has no effect")
}

func TestParse_RoundTripAndErrors(t *testing.T) {
	for text, want := range map[string]string{
		"no-patch":                       "no-patch",
		"patch-members":                  "patch-members=100",
		"patch-members=7":                "patch-members=7",
		"ignores-attribute=title":        "ignores-attribute=title",
		"error":                          "error=503,p=0.1,seed=1",
		"error=500,p=0.5,seed=3":         "error=500,p=0.5,seed=3",
		"drop-after,method=POST,times=2": "drop-after,p=0.1,seed=1,times=2,method=POST",
	} {
		s, err := quirks.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.String())
		again, err := quirks.Parse(want)
		require.NoError(t, err)
		require.Equal(t, s, again)
	}
	for text, want := range map[string]string{
		"no-such":           `unknown quirk "no-such"`,
		"no-putt":           `unknown quirk "no-putt"; did you mean "no-put"?`,
		"no-patch=1":        "has no argument",
		"patch-members=0":   "number from 1",
		"patch-members=":    "number from 1",
		"ignores-attribute": "is required",
		"error=200":         "from 400 to 599",
		"latency=soon":      "duration",
		"latency=2h":        "duration",
		"no-patch,p=1":      "only chaos",
		"drop,p=0":          "probability",
		"drop,p=NaN":        "probability",
		"drop,p=2":          "probability",
		"drop,seed=-1":      "seed",
		"drop,times=0":      "times",
		"drop,method=post":  "method",
		"drop,what=1":       "not one of",
	} {
		_, err := quirks.Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestQuirks_PassInvalidBodies checks that the quirks leave the rejection of an unreadable body to the server.
func TestQuirks_PassInvalidBodies(t *testing.T) {
	s := start(t, "ignores-attribute=title", "lower-user-name", "unknown-members-dropped")
	require.Equal(t, http.StatusBadRequest, s.ask(t, "POST /Users", `{"userName":`).status)
	require.Equal(t, http.StatusBadRequest, s.ask(t, "POST /Users", ``).status)
	require.Equal(t, http.StatusBadRequest, s.ask(t, "PATCH /Groups/PEOPLE", `[]`).status)
}

// TestMarkdown_UpToDate checks that docs/reference/quirks.md contains the table of the quirks.
func TestMarkdown_UpToDate(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference", "quirks.md")
	got := introduction + quirks.Markdown()
	goldentest.Check(t, file, got)
}

const introduction = `# Quirks

This page is for developers of provisioning clients.

A quirk is a deviation that the SCIM server simulates, to test a provisioning client against the behavior of real servers. There are ` +
	`three categories: profiles (behavior of known products), faults (defects on every
request) and chaos (failures at random). The tables are generated from the list in ` + "`scimserver/quirks`" + `. The flag ` +
	`` + "`--quirk`" + ` enables a quirk:

` + "```" + `
scimwright serve scim --quirk no-patch --quirk patch-members=50 --quirk rate-limit=2,p=0.2
scimwright sandbox --quirk lookup-404
scimwright serve scim --list-quirks
` + "```" + `

In a running sandbox, read and replace the quirks of a service provider (` + "`default`, `chat`" +
	` or another [tenant](../howto/tenants.md)) through the sandbox API:

` + "```" + `
TOKEN=... BASE=http://127.0.0.1:8080       # the API token and the address that the sandbox printed
curl -H "Authorization: SSWS $TOKEN" $BASE/sandbox/v1/scim/default/quirks
curl -H "Authorization: SSWS $TOKEN" -H "Content-Type: application/json" -X PUT $BASE/sandbox/v1/scim/default/quirks \
  -d '{"active":["drop-after,p=0.05,seed=7,method=POST"]}'
` + "```" + `

The value of ` + "`--quirk`" + ` and each string in ` + "`active`" + ` is ` + "`NAME` or `NAME=ARGUMENT`" + `. The tables have the ` +
	`default of the argument in parentheses. A chaos quirk can have these options after it, separated by commas:

| Option | Meaning | Default |
|---|---|---|
| ` + "`p`" + ` | probability that the quirk applies to a request | 0.1 |
| ` + "`seed`" + ` | seed of the random numbers; the same seed repeats a run | 1 |
| ` + "`times`" + ` | maximum number of affected requests | no limit |
| ` + "`method`" + ` | only requests with this method are affected: GET, POST, PUT, PATCH or DELETE | all methods |

If several quirks are active, they form a chain in the order of the tables, with the server before the first quirk. A quirk that ` +
	`is earlier in the tables changes the response first. A chaos quirk
therefore applies to the response that the other quirks have changed. Quirks do not apply to operations inside a bulk request.

The column "Seen at" names servers with this behavior, or GitHub issues that report it (` + "`owner/repository#number`" + `). ` +
	`"Permitted" means that the RFCs allow the behavior.
`
