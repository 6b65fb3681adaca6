package observed

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// An Exchange is a request and its response, without secrets. Its JSON form is a line of a recording.
type Exchange struct {
	At     time.Time `json:"at"`
	Millis float64   `json:"ms"`
	Method string    `json:"method"`
	// Path is relative to the base URL and escaped. Query is the query as it was sent.
	Path  string `json:"path"`
	Query string `json:"query,omitempty"`

	RequestHeader  http.Header `json:"requestHeader"`
	RequestBody    string      `json:"requestBody,omitempty"`
	Status         int         `json:"status"` // 0 if there was no response
	ResponseHeader http.Header `json:"responseHeader,omitempty"`
	ResponseBody   string      `json:"responseBody,omitempty"`
	Err            string      `json:"error,omitempty"`

	// The following fields describe the original exchange, because redaction and truncation have changed the fields above.

	// RequestSize and ResponseSize are the sizes of the original bodies, in bytes.
	RequestSize  int64 `json:"requestSize,omitempty"`
	ResponseSize int64 `json:"responseSize,omitempty"`
	// Cut reports that a body was too large to record, so that the bodies are not checked.
	Cut bool `json:"cut,omitempty"`
	// BrokenRequest and BrokenResponse report that a body was not UTF-8.
	BrokenRequest  bool `json:"requestNotUTF8,omitempty"`
	BrokenResponse bool `json:"responseNotUTF8,omitempty"`
	// Leak reports that the response repeated a password or a token; it is recorded as [redacted].
	Leak bool `json:"leak,omitempty"`
	// Secret reports that the URL contained a password or a token.
	Secret bool `json:"secretInAddress,omitempty"`
}

// recordingVersion is the version of the format of recordings. It increases with each incompatible change.
const recordingVersion = 1

// A Header is the first line of a recording.
type Header struct {
	Recording int    `json:"recording"` // the version of the format
	Target    string `json:"target"`    // the base URL of the server
}

// A Writer writes a recording: a header, and one exchange per line.
type Writer struct{ e *json.Encoder }

// NewWriter writes the header.
func NewWriter(w io.Writer, target string) (*Writer, error) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &Writer{e}, e.Encode(Header{recordingVersion, target})
}

// Write adds an exchange.
func (w *Writer) Write(x Exchange) error { return w.e.Encode(x) }

// maxLine is the maximum length of a line that Read accepts, in bytes: two bodies with their escapes.
const maxLine = 64 << 20

// Read reads a recording. It ignores an incomplete last line, which a proxy writes when it is aborted.
func Read(r io.Reader) (target string, exchanges []Exchange, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var header Header
	if !lines.Scan() {
		return "", nil, errors.Join(lines.Err(), errors.New("the recording is empty"))
	}
	if json.Unmarshal(lines.Bytes(), &header) != nil || header.Recording == 0 {
		return "", nil, errors.New("the first line is not the header of a recording")
	}
	if header.Recording != recordingVersion {
		return "", nil, fmt.Errorf("the recording has version %d, this program reads version %d", header.Recording, recordingVersion)
	}
	var broken error
	for n := 2; lines.Scan(); n++ {
		if broken != nil {
			return "", nil, broken
		}
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var x Exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			broken = fmt.Errorf("line %d is not an exchange: %w", n, err)
			continue
		}
		exchanges = append(exchanges, x)
	}
	return header.Target, exchanges, lines.Err()
}

// A capture is an exchange as it was sent, secrets included. It never leaves the package.
type capture struct {
	at                  time.Time
	took                time.Duration
	method, path, query string
	requestHeader       http.Header
	request             []byte
	requestSize         int64
	status              int
	responseHeader      http.Header
	response            []byte
	responseSize        int64
	cut                 bool
	err                 string
}

// minSecret is the minimum length of a secret to search for in responses: a shorter one may occur by chance.
const minSecret = 8

// redact converts a capture to an Exchange. secrets are those of this request and of earlier ones.
func (c capture) redact(secrets []string) Exchange {
	response, readable := plain(c.response, c.responseHeader)
	x := Exchange{
		RequestSize: c.requestSize, ResponseSize: c.responseSize, Cut: c.cut || !readable,
		BrokenRequest: !utf8.Valid(c.request), BrokenResponse: readable && !utf8.Valid(response),
	}
	address := c.path + "?" + c.query
	for _, s := range secrets {
		if len(s) >= minSecret && !strings.Contains(unescape(address), s) {
			x.Leak = x.Leak || bytes.Contains(response, []byte(s)) || inHeader(c.responseHeader, s)
		}
	}
	if !readable {
		response = nil
	}
	redactor := wirelog.NewRedactor(secrets...)
	e := redactor.Exchange(wirelog.Exchange{
		URL: (&url.URL{Path: "/", RawQuery: c.query}).String(), RequestHeader: c.requestHeader, RequestBody: string(c.request),
		ResponseHeader: c.responseHeader, ResponseBody: string(response), Err: c.err,
	})
	_, query, _ := strings.Cut(e.URL, "?")
	x.At, x.Millis, x.Method = c.at, float64(c.took)/float64(time.Millisecond), c.method
	x.Path, x.Query = redactor.Text(c.path), withoutOperands(query)
	x.Secret = x.Query != c.query || x.Path != c.path
	x.RequestHeader, x.RequestBody = e.RequestHeader, e.RequestBody
	x.Status, x.ResponseHeader, x.ResponseBody, x.Err = c.status, e.ResponseHeader, e.ResponseBody, e.Err
	return x
}

// inOrder returns exchanges in the order of their start.
func inOrder(exchanges []Exchange) []Exchange {
	return slices.SortedStableFunc(slices.Values(exchanges), func(a, b Exchange) int { return a.At.Compare(b.At) })
}

// maxSecrets is the maximum number of passwords of earlier requests that redact searches for: the latest ones.
const maxSecrets = 100

// secretsOf returns the credentials and passwords of a request.
func secretsOf(c capture) []string {
	var out []string
	if _, value, found := strings.Cut(c.requestHeader.Get("Authorization"), " "); found {
		out = append(out, value)
	}
	if object, err := scim.Decode(c.request); err == nil {
		out = passwords(object, out)
	}
	return out
}

func passwords(v any, out []string) []string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = passwords(item, out)
		}
	case *scim.Object:
		secret := v.Text("password")
		if strings.HasSuffix(strings.ToLower(v.Text("path")), "password") {
			secret = v.Text("value")
		}
		if secret != "" {
			out = append(out, secret)
		}
		for _, inner := range v.All() {
			out = passwords(inner, out)
		}
	}
	return out
}

func inHeader(h http.Header, secret string) bool {
	for _, values := range h {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, secret) }) {
			return true
		}
	}
	return false
}

// withoutOperands redacts every filter that contains the word password, because an operand of the filter may be a password.
func withoutOperands(query string) string {
	fields := strings.Split(query, "&")
	for i, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		if name == "filter" && strings.Contains(strings.ToLower(unescape(value)), "password") {
			fields[i] = name + "=" + url.QueryEscape(wirelog.Redacted)
		}
	}
	return strings.Join(fields, "&")
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// plain decompresses the body of a response. It returns false if the body cannot be decompressed.
func plain(body []byte, h http.Header) ([]byte, bool) {
	switch strings.ToLower(h.Get("Content-Encoding")) {
	case "", "identity":
		return body, true
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, len(body) == 0
		}
		out, err := io.ReadAll(io.LimitReader(z, maxPlain+1))
		return out, err == nil && len(out) <= maxPlain
	}
	return nil, len(body) == 0
}

// maxPlain is the maximum size of a decompressed response, in bytes.
const maxPlain = 16 << 20
