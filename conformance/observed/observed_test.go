package observed_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/scim"
)

const (
	secretToken    = "t0ken-of-the-client"
	secretPassword = "tops3cret-of-ann"
)

// behind starts a server behind a recorder.
func behind(t *testing.T, opts observed.Options, handler http.HandlerFunc) (recorder *observed.Recorder, address string,
	done func() []observed.Exchange) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.DisableCompression = true
	opts.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	recorder, err := observed.NewRecorder(server.URL+"/scim/v2", opts)
	require.NoError(t, err)
	front := httptest.NewServer(recorder)
	return recorder, front.URL, func() []observed.Exchange {
		front.Close()
		return recorder.Exchanges()
	}
}

func send(t *testing.T, method, address, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Header = header
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(text)
}

func TestRecorder_ForwardsUnchanged(t *testing.T) {
	large := strings.Repeat("x", 3<<20)
	var mu sync.Mutex
	var got struct {
		method, uri, host, body string
		header                  http.Header
	}
	var host string
	recorder, address, done := behind(t, observed.Options{MaxBody: 1 << 10}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got.method, got.uri, got.host, got.body, got.header = r.Method, r.RequestURI, r.Host, string(body), r.Header
		mu.Unlock()
		w.Header().Set("Location", "https://elsewhere.example.com/")
		w.Header()["X-Two"] = []string{"1", "2"}
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(w, large)
	})
	u, err := url.Parse(recorder.Target())
	require.NoError(t, err)
	host = u.Host
	res, text := send(t, "PUT", address+"/Users/a%2Fb?filter=a;b&c=%zz&d", large,
		http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Authorization": {"Bearer " + secretToken}, "User-Agent": {"x"}})
	require.Equal(t, http.StatusTemporaryRedirect, res.StatusCode, "no redirect is followed")
	require.Equal(t, []string{"1", "2"}, res.Header["X-Two"])
	require.Equal(t, len(large), len(text))
	require.Equal(t, large, text)
	mu.Lock()
	require.Equal(t, "PUT /scim/v2/Users/a%2Fb?filter=a;b&c=%zz&d "+host, got.method+" "+got.uri+" "+got.host)
	require.Equal(t, large, got.body)
	require.Equal(t, "192.0.2.1", got.header.Get("X-Forwarded-For"))
	require.Equal(t, "Bearer "+secretToken, got.header.Get("Authorization"))
	mu.Unlock()
	exchanges := done()
	require.Len(t, exchanges, 1)
	x := exchanges[0]
	require.True(t, x.Cut)
	require.Equal(t, [2]int64{3 << 20, 3 << 20}, [2]int64{x.RequestSize, x.ResponseSize})
	require.LessOrEqual(t, len(x.ResponseBody), 1<<10)
	require.Equal(t, "/Users/a%2Fb", x.Path)
}

func TestRecorder_RedactsSecrets(t *testing.T) {
	_, address, done := behind(t, observed.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", scim.MediaType)
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		if strings.Contains(r.URL.Path, "Echo") {
			_, _ = io.WriteString(w, `{"detail":"`+secretPassword+`"}`)
		}
	})
	header := http.Header{"Authorization": {"Bearer " + secretToken}, "Content-Type": {scim.MediaType}}
	send(t, "POST", address+"/Users", `{"schemas":["`+scim.UserSchema+`"],"userName":"ann","password":"`+secretPassword+`"}`, header)
	send(t, "GET", address+"/Echo", "", header)
	send(t, "GET", address+"/Users?access_token="+secretToken, "", http.Header{})
	send(t, "GET", address+"/Users?filter="+url.QueryEscape(`password eq "other-s3cret"`), "", http.Header{})
	send(t, "GET", address+"/Plain", "", http.Header{})
	exchanges := done()
	var recording bytes.Buffer
	w, err := observed.NewWriter(&recording, "https://example.com")
	require.NoError(t, err)
	for _, x := range exchanges {
		require.NoError(t, w.Write(x))
	}
	for _, secret := range []string{secretToken, secretPassword, "other-s3cret"} {
		require.NotContains(t, recording.String(), secret)
	}
	require.Contains(t, recording.String(), "ann")
	require.Equal(t, []bool{true, true, false, false, false},
		[]bool{exchanges[0].Leak, exchanges[1].Leak, exchanges[2].Leak, exchanges[3].Leak, exchanges[4].Leak})
	require.Equal(t, []bool{false, false, true, true, false},
		[]bool{exchanges[0].Secret, exchanges[1].Secret, exchanges[2].Secret, exchanges[3].Secret, exchanges[4].Secret})

	r := observed.Judge("https://example.com", exchanges, observed.Checks(observed.Server, observed.Client))
	require.Equal(t, conformance.Fail, outcome(r, "traffic.no-secrets"))
	require.Equal(t, conformance.Warn, outcome(r, "client.secret-in-address"))
	exchanges[0].Leak, exchanges[1].Leak = false, false
	r = observed.Judge("https://example.com", exchanges, observed.Checks(observed.Server))
	require.Equal(t, conformance.Pass, outcome(r, "traffic.no-secrets"))
}

// TestRecorder_UnreachableServer checks that the recorder returns 502 and records an exchange without a response.
func TestRecorder_UnreachableServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	recorder, err := observed.NewRecorder(server.URL, observed.Options{})
	require.NoError(t, err)
	front := httptest.NewServer(recorder)
	res, text := send(t, "GET", front.URL+"/Users", "", http.Header{})
	front.Close()
	require.Equal(t, http.StatusBadGateway, res.StatusCode)
	require.Contains(t, text, "no response from the server")
	exchanges := recorder.Exchanges()
	require.Len(t, exchanges, 1)
	require.Zero(t, exchanges[0].Status)
	require.NotEmpty(t, exchanges[0].Err)
	require.NotEmpty(t, exchanges[0].Line())
}

// TestRecorder_ForwardsHangup checks that the recorder with the option Hangup closes the connection to the client if the server closes its
// own.
func TestRecorder_ForwardsHangup(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer server.Close()
	recorder, err := observed.NewRecorder(server.URL, observed.Options{Hangup: true})
	require.NoError(t, err)
	front := httptest.NewServer(recorder)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/Users", strings.NewReader("{}"))
	require.NoError(t, err)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err == nil {
		res.Body.Close()
	}
	require.ErrorIs(t, err, io.EOF)
	front.Close()
	require.Len(t, recorder.Exchanges(), 1)
	require.Zero(t, recorder.Exchanges()[0].Status)
}

// TestRecorder_CompressedResponse checks that the recorder forwards a compressed response unchanged, and records its text without secrets.
func TestRecorder_CompressedResponse(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, `{"schemas":["`+scim.UserSchema+`"],"id":"1","userName":"ann","password":"`+secretPassword+`"}`)
	require.NoError(t, z.Close())
	_, address, done := behind(t, observed.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", scim.MediaType)
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	})
	_, text := send(t, "GET", address+"/Users/1", "", http.Header{"Accept-Encoding": {"gzip"}})
	require.Equal(t, packed.String(), text)
	exchanges := done()
	require.Contains(t, exchanges[0].ResponseBody, `"userName":"ann"`)
	require.NotContains(t, exchanges[0].ResponseBody, secretPassword)
	require.Equal(t, conformance.Fail,
		outcome(observed.Judge("https://example.com", exchanges, observed.Checks(observed.Server)), "traffic.no-password"))
}

func TestJudge_ReportsInvalidUTF8(t *testing.T) {
	_, address, done := behind(t, observed.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", scim.MediaType)
		_, _ = io.WriteString(w, "{\"schemas\":[\""+scim.UserSchema+"\"],\"id\":\"1\",\"title\":\"\xff\"}")
	})
	send(t, "GET", address+"/Users/1", "", http.Header{})
	require.Equal(t, conformance.Fail,
		outcome(observed.Judge("https://example.com", done(), observed.Checks(observed.Server)), "traffic.json"))
}

func TestRead_PreservesVerdict(t *testing.T) {
	recorder, address, done := behind(t, observed.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "panic at /srv/app/main.go:7")
	})
	send(t, "PATCH", address+"/Users/1", `{"Operations":[{"op":"Replace"}]}`, http.Header{"Content-Type": {"application/json"}})
	exchanges := done()
	live := observed.Judge(recorder.Target(), exchanges, observed.Checks(observed.Server, observed.Client))
	var recording bytes.Buffer
	w, err := observed.NewWriter(&recording, recorder.Target())
	require.NoError(t, err)
	for _, x := range exchanges {
		require.NoError(t, w.Write(x))
	}
	recording.WriteString(`{"at":"2026-01-`) // as if the proxy was aborted
	target, again, err := observed.Read(&recording)
	require.NoError(t, err)
	require.Equal(t, recorder.Target(), target)
	replayed := observed.Judge(target, again, observed.Checks(observed.Server, observed.Client))
	require.Equal(t, conformance.Findings, live.Verdict)
	require.Empty(t, cmp.Diff(summary(live), summary(replayed)))
}

func summary(r *conformance.Result) (out []string) {
	for _, c := range r.Checks {
		out = append(out, c.Check.ID+" "+string(c.Outcome))
		for _, f := range c.Findings {
			out = append(out, f.What+" "+f.Want+" "+f.Got)
		}
	}
	return out
}

// TestRead_RejectsNonRecording checks that Read rejects other files, and NewRecorder rejects invalid base URLs.
func TestRead_RejectsNonRecording(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "another file": "{}\n", "a later version": `{"recording":99}` + "\n",
		"an invalid line": `{"recording":1,"target":"https://x"}` + "\n{\n{}\n", "text": "hello\n",
	} {
		_, _, err := observed.Read(strings.NewReader(text))
		require.Error(t, err, name)
	}
	for _, base := range []string{"", "ftp://x", "https://u:p@x", "https://x?a=b", "/scim"} {
		_, err := observed.NewRecorder(base, observed.Options{})
		require.Error(t, err, base)
	}
}

func TestJudge_UntestedWithoutTraffic(t *testing.T) {
	require.Equal(t, conformance.Untested,
		observed.Judge("https://example.com", nil, observed.Checks(observed.Server, observed.Client)).Verdict)
	unanswered := observed.Exchange{At: start, Method: "GET", Path: "/Users", Err: "connection refused"}
	require.Equal(t, conformance.Untested,
		observed.Judge("https://example.com", []observed.Exchange{unanswered}, observed.Checks(observed.Server)).Verdict,
		"an unreachable server is not clean")
	page := observed.Exchange{At: start, Method: "GET", Path: "/index.html", Status: 304}
	require.Equal(t, conformance.Untested,
		observed.Judge("https://example.com", []observed.Exchange{page}, only("client.filter", "traffic.schemas")).Verdict)
}

func TestReports_RedactUsers(t *testing.T) {
	exchanges := []observed.Exchange{
		{At: start, Method: "GET", Path: "/Users", Query: "filter=" + url.QueryEscape(`userName eq "ann.example"`), Status: 200,
			ResponseHeader: json200,
			ResponseBody: `{"schemas":["` + scim.ListResponseMessage + `"],"totalResults":"1","Resources":[{"schemas":["` + scim.UserSchema +
				`"],"id":"1","userName":"ann.example","emails":[{"value":"ann@example.org"}]}]}`},
		{At: start, Method: "PATCH", Path: "/Users/1", RequestHeader: json200,
			RequestBody: `{"schemas":["` + scim.PatchOpMessage +
				`"],"Operations":[{"op":"Replace","path":"name.familyName","value":"Hidden-Name"},{"op":"Replace","path":"active","value":"False"}]}`,
			Status: 204},
		{At: start, Method: "POST", Path: "/Users", RequestHeader: json200, RequestBody: `{"userName":"cut.off`, Status: 400},
	}
	r := observed.Judge("https://example.com", exchanges, observed.Checks(observed.Server, observed.Client))
	require.Equal(t, conformance.Findings, r.Verdict)
	for _, form := range report.Writers() {
		var out bytes.Buffer
		require.NoError(t, form.Write(&out, r, "v1"))
		for _, private := range []string{"ann.example", "ann%2Eexample", "ann@example.org", "Hidden-Name", "cut.off"} {
			require.NotContains(t, out.String(), private, form.Name)
		}
	}
	require.Contains(t, exchanges[0].ResponseBody, "ann.example", "the recording contains them")
	require.Equal(t, conformance.Fail, outcome(r, "client.patch.op-case"))
	require.Equal(t, conformance.Fail, outcome(r, "client.resource.boolean"))
}

// TestReports_OmitRunDetails checks that a report on observed traffic mentions neither a run nor a seed.
func TestReports_OmitRunDetails(t *testing.T) {
	r := observed.Judge("https://example.com", talk{}.say("GET", filtered(`userName eq ann`), "", 400, ""), observed.Checks(observed.Client))
	require.Equal(t, conformance.Findings, r.Verdict)
	for _, name := range []string{"text", "markdown", "html"} {
		form, _ := report.WriterNamed(name)
		var out bytes.Buffer
		require.NoError(t, form.Write(&out, r, "v1"))
		for _, alien := range []string{"run with", "run observed", "seed: 0", "seed 0", "<dt>Seed</dt>"} {
			require.False(t, strings.Contains(out.String(), alien), "%s: %s", name, alien)
		}
	}
}

func TestReports_RedactUnquotedUsers(t *testing.T) {
	detail := func(text string) string {
		return `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":400,"detail":"` + text + `"}`
	}
	exchanges := []observed.Exchange{
		{At: start, Method: "GET", Path: "/Users", Query: "filter=" + url.QueryEscape(`userName eq zed@secret.test`), Status: 400,
			ResponseHeader: json200, ResponseBody: detail("bad filter userName eq zed@secret.test")},
		{At: start, Method: "GET", Path: "/Users",
			Query: "filter=" + url.QueryEscape(`name.familyName eq Quill Marten and active eq true or title co Qx`), Status: 400,
			ResponseHeader: json200, ResponseBody: detail("Quill Marten is not quoted")},
		{At: start, Method: "GET", Path: "/Users/yan@secret.test", Status: 404,
			ResponseHeader: http.Header{"Content-Type": {scim.MediaType}, "X-Who": {"xi@secret.test"}},
			ResponseBody:   detail("no such user: yan@secret.test")},
		{At: start, Method: "GET", Path: "/Users", Query: "filter=userName+eq+Wanda;x", Status: 400, ResponseHeader: json200,
			ResponseBody: detail("no")},
		{At: start, Method: "PATCH", Path: "/Users/1", RequestHeader: json200,
			RequestBody: `{"Operations":[{"op":"remove","path":"emails[value eq \"uma@secret.test\"]"}]}`, Status: 204},
	}
	r := observed.Judge("https://example.com", exchanges, observed.Checks(observed.Server, observed.Client))
	require.Equal(t, conformance.Fail, outcome(r, "client.filter"))
	for _, form := range report.Writers() {
		var out bytes.Buffer
		require.NoError(t, form.Write(&out, r, "v1"))
		for _, private := range []string{"secret.test", "Quill", "Marten", "Qx", "Wanda"} {
			require.False(t, strings.Contains(out.String(), private), "%s: %s", form.Name, private)
		}
	}
	require.Contains(t, r.Traffic[1].Exchange.URL, "active%20eq%20true", "values that belong to no user stay readable")
	require.Equal(t, "xi@secret.test", exchanges[2].ResponseHeader.Get("X-Who"), "the recording contains them")
}

var (
	start   = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	json200 = http.Header{"Content-Type": {scim.MediaType}}
)

func only(ids ...string) []conformance.Check {
	selected, err := conformance.Selection{Only: ids}.Apply(observed.Checks(observed.Server, observed.Client))
	if err != nil {
		panic(err)
	}
	return selected
}

func outcome(r *conformance.Result, id string) conformance.Outcome {
	for _, c := range r.Checks {
		if c.Check.ID == id {
			return c.Outcome
		}
	}
	return ""
}

// TestClientChecks_CiteRequirements checks that each check cites known requirements, and has the level Must only if one of them is a MUST
// for clients.
func TestClientChecks_CiteRequirements(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range observed.ClientChecks() {
		require.False(t, seen[c.ID], c.ID)
		seen[c.ID] = true
		require.Equal(t, observed.Client, observed.SideOf(c))
		require.NotEmpty(t, c.Title+c.Why+c.Fix, c.ID)
		for _, id := range c.Requirements {
			clause, known := requirements.Lookup(id)
			require.True(t, known, "%s cites %s", c.ID, id)
			if c.Level == conformance.Must {
				require.Contains(t, []requirements.Level{requirements.Must, requirements.MustNot}, clause.Level, c.ID)
				require.NotEqual(t, requirements.Server, clause.Role, "%s: %s binds servers", c.ID, id)
			}
		}
		require.True(t, c.Level != conformance.Must || len(c.Requirements) > 0, c.ID)
	}
}
