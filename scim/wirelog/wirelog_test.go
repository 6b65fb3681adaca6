package wirelog_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// exchange sends one request through a Transport to a handler and returns the exchange that the sink received.
func exchange(t *testing.T, o wirelog.Options, h http.HandlerFunc, prepare func(*http.Request)) wirelog.Exchange {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	var got []wirelog.Exchange
	client := &http.Client{Transport: wirelog.Transport(server.Client().Transport, func(e wirelog.Exchange) { got = append(got, e) }, o)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/Users", nil)
	require.NoError(t, err)
	prepare(req)
	req.URL.Host = strings.TrimPrefix(server.URL, "http://")
	resp, err := client.Do(req)
	if err == nil {
		_, _ = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	require.Len(t, got, 1, "the sink is called once")
	return got[0]
}

func withBody(method, contentType, body string) func(*http.Request) {
	return func(r *http.Request) {
		r.Method = method
		r.Header.Set("Content-Type", contentType)
		r.Body = io.NopCloser(strings.NewReader(body))
		r.ContentLength = int64(len(body))
	}
}

func TestTransport_RedactsSecrets(t *testing.T) {
	const secret = "hunter2-hunter2"
	for _, c := range []struct {
		name    string
		prepare func(*http.Request)
		answer  string
		want    string // must remain readable in one of the fields
	}{
		{"bearer header", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }, "", "Bearer [redacted]"},
		{"raw header", func(r *http.Request) { r.Header.Set("Authorization", secret) }, "", "[redacted]"},
		{"raw header with a space", func(r *http.Request) { r.Header.Set("Authorization", secret+" more") }, "", "[redacted]"},
		{"cookie", func(r *http.Request) { r.Header.Set("Cookie", "s="+secret) }, "", "[redacted]"},
		{"query parameter", func(r *http.Request) { r.URL.RawQuery = "a=1&access_token=" + secret }, "", "a=1&access_token="},
		{"password member", withBody("POST", "application/scim+json", `{"userName":"ann","password" : "`+secret+`","active":true}`), "",
			`"userName":"ann"`},
		{"escaped member name", withBody("POST", "application/scim+json", `{"userName":"ann","pass\u0077ord":"`+secret+`"}`), "", "ann"},
		{"member with a quote in its value", withBody("POST", "application/json", `{"token":"a\"`+secret+`","userName":"ann"}`), "",
			`"userName":"ann"`},
		{"secret object", withBody("POST", "application/json", `{"client_secret":{"a":["`+secret+`"]},"b":"kept"}`), "", `"b":"kept"`},
		{"secret number", withBody("POST", "application/json", `{"secret":1234567890,"b":"kept","c":"x"}`), "",
			`"secret":"[redacted]","b":"kept"`},
		{"patch of the password, path first",
			withBody("PATCH", "application/scim+json", `{"Operations":[{"op":"replace","path":"password","value":"`+secret+`"}]}`), "",
			`"op":"replace"`},
		{"patch of the password, value first",
			withBody("PATCH", "application/scim+json", `{"Operations":[{"value":"`+secret+`","path":"urn:x:User:password","op":"replace"}]}`), "",
			`"op":"replace"`},
		{"key with its schema",
			withBody("PATCH", "application/scim+json", `{"Operations":[{"op":"replace","value":{"urn:x:User:password":"`+secret+`"}}]}`), "",
			`"op":"replace"`},
		{"form", withBody("POST", "application/x-www-form-urlencoded", "grant_type=client_credentials&client_secret="+secret), "",
			"grant_type=client_credentials"},
		{"truncated body", withBody("POST", "application/json", `{"userName":"ann","password":"`+secret), "", `"userName":"ann"`},
		{"body that is not JSON", withBody("POST", "application/json", `oops {"password":"`+secret+`"} oops`), "", "oops"},
		{"answer", func(*http.Request) {}, `{"userName":"ann","password":"` + secret + `"}`, `"userName":"ann"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := exchange(t, wirelog.Options{}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, c.answer)
			}, c.prepare)
			all := dump(e)
			require.NotContains(t, all, "hunter2")
			require.Contains(t, all, c.want)
			require.NotContains(t, wirelog.Curl(e), "hunter2")
		})
	}
}

func dump(e wirelog.Exchange) string {
	var b strings.Builder
	_ = e.RequestHeader.Write(&b)
	_ = e.ResponseHeader.Write(&b)
	return b.String() + e.URL + "\n" + e.RequestBody + "\n" + e.ResponseBody + "\n" + e.Err
}

func TestTransport_SendsUnredacted(t *testing.T) {
	var seen string
	e := exchange(t, wirelog.Options{}, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen = r.Header.Get("Authorization") + " " + string(b)
		w.WriteHeader(http.StatusCreated)
	}, func(r *http.Request) {
		withBody("POST", "application/json", `{"password":"open sesame"}`)(r)
		r.Header.Set("Authorization", "Bearer abc")
	})
	require.Equal(t, `Bearer abc {"password":"open sesame"}`, seen)
	require.Equal(t, http.StatusCreated, e.Status)
	require.Equal(t, `{"password":"[redacted]"}`, e.RequestBody)
}

// TestRedactor_EncodedSecrets checks that an echoed token is redacted in every encoding: JSON, URL, HTML and Base64.
func TestRedactor_EncodedSecrets(t *testing.T) {
	const token = `tok/en "with" <quotes>+`
	for name, echo := range map[string]string{
		"plain text":       token,
		"JSON":             `tok/en \"with\" <quotes>+`,
		"JSON for HTML":    `tok/en \"with\" \u003cquotes\u003e+`,
		"JSON from PHP":    `tok\/en \"with\" <quotes>+`,
		"a form":           url.QueryEscape(token),
		"a query":          strings.ReplaceAll(url.QueryEscape(token), "+", "%20"),
		"a path":           url.PathEscape(token),
		"HTML":             "tok/en &#34;with&#34; &lt;quotes&gt;+",
		"Base64":           base64.StdEncoding.EncodeToString([]byte(token)),
		"Base64 for URLs":  base64.RawURLEncoding.EncodeToString([]byte(token)),
		"Base64 in a form": url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(token))),
	} {
		t.Run(name, func(t *testing.T) {
			text := "bad " + echo + " and " + echo + ", a pity"
			require.Equal(t, "bad [redacted] and [redacted], a pity", wirelog.NewRedactor(token, "a").Text(text))
			e := exchange(t, wirelog.Options{Secrets: []string{token, "a"}}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", text)
				_, _ = io.WriteString(w, text)
			}, func(*http.Request) {})
			require.Equal(t, "bad [redacted] and [redacted], a pity", e.ResponseBody)
			require.Equal(t, "bad [redacted] and [redacted], a pity", e.ResponseHeader.Get("Location"))
		})
	}
	require.Equal(t, "anything", new(wirelog.Redactor).Text("anything"))
}

func TestRedactor_ShortSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		secrets    []string
		text, want string
	}{
		"one letter":          {[]string{"e"}, "the email address e is invalid", "the email address e is invalid"},
		"after a scheme":      {[]string{"e"}, "invalid Bearer e, retry", "invalid Bearer [redacted], retry"},
		"a header":            {[]string{"e"}, "Authorization: e", "Authorization: [redacted]"},
		"a parameter":         {[]string{"e"}, "?access_token=e&count=1", "?access_token=[redacted]&count=1"},
		"a member":            {[]string{"hunt5"}, `{"password": "hunt5"}`, `{"password": "[redacted]"}`},
		"a quoted word":       {[]string{"hunt5"}, "the token 'hunt5' has expired", "the token '[redacted]' has expired"},
		"a longer word":       {[]string{"e"}, "token expired, Bearer error", "token expired, Bearer error"},
		"another script":      {[]string{"e"}, "token eé", "token eé"},
		"Base64":              {[]string{"a:b", "b"}, "Basic YTpi is unknown", "Basic [redacted] is unknown"},
		"Base64, long enough": {[]string{"abcd"}, "got YWJjZA==, abcd", "got [redacted], abcd"},
		"syntax":              {[]string{"."}, "Bearer x. Bearer .", "Bearer x. Bearer [redacted]"},
		"no secret":           {[]string{""}, "Bearer x", "Bearer x"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, wirelog.NewRedactor(c.secrets...).Text(c.text))
		})
	}
}

// TestRedactor_OverlappingSecrets checks that the longest of overlapping secrets is redacted as a whole.
func TestRedactor_OverlappingSecrets(t *testing.T) {
	r := wirelog.NewRedactor("password", "user:password", "password-of-user")
	require.Equal(t, "[redacted], [redacted], [redacted]", r.Text("user:password, password-of-user, password"))
}

func TestTransport_RedactsTruncatedSecret(t *testing.T) {
	const token = "s3cr3t-token-of-the-target"
	e := exchange(t, wirelog.Options{MaxBody: 100_000, Secrets: []string{token}}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat(" "+token, 10_000))
	}, func(*http.Request) {})
	require.NotContains(t, e.ResponseBody, "s3cr3t")
}

func TestTransport_TruncatesBody(t *testing.T) {
	e := exchange(t, wirelog.Options{MaxBody: 11}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("äöü", 100_000))
	}, func(*http.Request) {})
	require.Equal(t, "äöüäö… [cut]", e.ResponseBody)
}

// TestTransport_RecordsAbortedResponse checks that an aborted response is recorded with the part that was received and the error.
func TestTransport_RecordsAbortedResponse(t *testing.T) {
	e := exchange(t, wirelog.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":`)
	}, func(*http.Request) {})
	require.Equal(t, http.StatusOK, e.Status)
	require.Equal(t, `{"id":`, e.ResponseBody)
	require.Contains(t, e.Err, "unexpected EOF")
}

func TestTransport_RecordsMissingResponse(t *testing.T) {
	e := exchange(t, wirelog.Options{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, func(*http.Request) {})
	require.Zero(t, e.Status)
	require.NotEmpty(t, e.Err)
}

func TestCurl(t *testing.T) {
	require.Equal(t,
		`curl -X 'POST' 'http://h/Users' -H 'Accept: a/b' -H "Authorization: Bearer $TOKEN" --data-binary '{"n":"O'\''Neil"}'`,
		wirelog.Curl(wirelog.Exchange{
			Method: "POST", URL: "http://h/Users", RequestBody: `{"n":"O'Neil"}`,
			RequestHeader: http.Header{"Authorization": {"Bearer [redacted]"}, "Accept": {"a/b"}, "Content-Length": {"3"}},
		}))
	require.Equal(t, `curl --head 'http://h/Users/1'`, wirelog.Curl(wirelog.Exchange{Method: "HEAD", URL: "http://h/Users/1"}))
	require.Equal(t, `curl -X 'GET' 'http://h/Users' --data-binary '{}'`,
		wirelog.Curl(wirelog.Exchange{Method: "GET", URL: "http://h/Users", RequestBody: "{}"}))
}

func FuzzRedaction(f *testing.F) {
	f.Add(`{"password":"`, `"}`)
	f.Add(`{"a":[{"path":"password","value":"`, `"}]}`)
	f.Add(`"\`, `{`)
	f.Fuzz(func(t *testing.T, before, after string) {
		server := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(before + "s3cr3t-value" + after))}, nil
		})
		var got wirelog.Exchange
		tr := wirelog.Transport(server, func(e wirelog.Exchange) { got = e }, wirelog.Options{Secrets: []string{"s3cr3t-value"}})
		resp, err := tr.RoundTrip(httptest.NewRequest(http.MethodGet, "http://h/", nil))
		require.NoError(t, err)
		_, _ = io.ReadAll(resp.Body)
		require.NotContains(t, got.ResponseBody, "s3cr3t-value")
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRedactor_Exchange checks that an exchange from another source is redacted like a recorded one.
func TestRedactor_Exchange(t *testing.T) {
	e := wirelog.NewRedactor("s3cr3t-token").Exchange(wirelog.Exchange{
		Method: "POST", URL: "https://example.com/Users?access_token=hunter2-hunter2&a=s3cr3t-token",
		RequestHeader: http.Header{"Authorization": {"Bearer hunter2-hunter2"}, "X-Other": {"s3cr3t-token"}},
		RequestBody:   `{"userName":"ann","password":"hunter2-hunter2"}`, ResponseHeader: http.Header{"Set-Cookie": {"hunter2-hunter2"}},
		ResponseBody: `{"detail":"s3cr3t-token"}`, Err: "s3cr3t-token",
	})
	all := dump(e)
	require.NotContains(t, all, "hunter2")
	require.NotContains(t, all, "s3cr3t")
	require.Contains(t, all, "ann")
	require.Empty(t, wirelog.NewRedactor().Exchange(wirelog.Exchange{URL: "http://[hunter2"}).URL)
}
