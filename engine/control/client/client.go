package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxResponse is the maximum length of a response body, in bytes.
const maxResponse = 64 << 20

// maxForeign is the maximum length in bytes of the part of a response that an error shows if the response is not from the API.
const maxForeign = 200

// Client calls a control API. It may be used by several goroutines. Set the exported fields before the first call.
type Client struct {
	// HTTP sends the requests. Default: a client that does not follow redirects. CheckRedirect of a given client is ignored, because the token
	// must only be sent to the base URL.
	HTTP *http.Client
	// Scheme is the scheme of the Authorization header. Default: Bearer.
	Scheme string

	base  string
	token string
	own   http.Client
}

// New returns a client of the API at url: the address with the prefix under which the embedder serves the API, such as
// "https://idp.example.com/engine/v1". The embedder's authorization must accept the token. An empty token is not sent.
func New(url, token string) *Client {
	return &Client{base: strings.TrimRight(url, "/"), token: token}
}

// Error is a response with a status of 400 or more.
type Error struct {
	Method, Path string // method, and path with the query, of the request
	Status       int
	Code         string
	Summary      string
	Causes       []string
}

func (e *Error) Error() string {
	text := e.Summary
	if len(e.Causes) > 0 {
		separator := "; "
		if i := strings.LastIndex(text, ": "); i >= 0 && strings.HasPrefix(e.Causes[0], text[i+2:]+": ") {
			text, separator = text[:i], ": " // the summary ends with the member that the first cause begins with
		}
		text += separator + strings.Join(e.Causes, "; ")
	}
	return fmt.Sprintf("%s %s: %d %s: %s", e.Method, e.Path, e.Status, e.Code, text)
}

// IsNotFound reports whether the error is a response of the API with the status 404. A 404 of another server, such as a proxy, is none.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound
}

// Do sends a request to a path below the base URL. It sends body as JSON unless body is nil, and stores the decoded response in into unless
// into is nil. A *json.RawMessage receives the response body unchanged. A response with a status other than 2xx is returned as an *Error.
func (c *Client) Do(ctx context.Context, method, path string, body, into any) error {
	_, err := c.send(ctx, method, path, body, into)
	return err
}

// send is Do that also returns the header of the response.
func (c *Client) send(ctx context.Context, method, path string, body, into any) (http.Header, error) {
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("client: %s %s: %w", method, path, err)
		}
		payload = bytes.NewReader(data)
	}
	req, err := c.request(ctx, method, path, payload)
	if err != nil {
		return nil, err
	}
	path = req.URL.RequestURI() // the path with the query, for the errors below
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.withoutRedirects().Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	case len(data) > maxResponse:
		return nil, fmt.Errorf("%s %s: the response is longer than %d bytes", method, path, maxResponse)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, errorOf(method, path, res.StatusCode, data)
	case into == nil || len(data) == 0:
		return res.Header, nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return res.Header, nil
}

// request returns a request with the credentials.
func (c *Client) request(ctx context.Context, method, path string, payload io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return nil, fmt.Errorf("client: %w: the base URL must start with http:// or https://, then the host and the prefix", err)
	}
	if s := req.URL.Scheme; s != "http" && s != "https" {
		return nil, errors.New("client: the base URL must start with http:// or https://")
	}
	req.Header.Set("Accept", "application/json")
	if c.token != "" {
		scheme := c.Scheme
		if scheme == "" {
			scheme = "Bearer"
		}
		req.Header.Set("Authorization", scheme+" "+c.token)
	}
	return req, nil
}

// withoutRedirects returns a copy of c.HTTP that follows no redirects, because a redirect would send the token to another address.
func (c *Client) withoutRedirects() *http.Client {
	sender := c.own
	if c.HTTP != nil {
		sender = *c.HTTP
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &sender
}

func errorOf(method, path string, status int, body []byte) error {
	var e struct {
		Code    string `json:"errorCode"`
		Summary string `json:"errorSummary"`
		Causes  []struct {
			Summary string `json:"errorSummary"`
		} `json:"errorCauses"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Code == "" {
		return notFromAPI(method, path, status, body)
	}
	out := &Error{Method: method, Path: path, Status: status, Code: e.Code, Summary: e.Summary}
	for _, cause := range e.Causes {
		out.Causes = append(out.Causes, cause.Summary)
	}
	return out
}

// notFromAPI returns the error for a response that is not from the API, but from the embedder's authorization, a proxy or another path.
func notFromAPI(method, path string, status int, body []byte) error {
	hint := ""
	switch line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n"); {
	case status == http.StatusNotFound:
		hint = "; check that the URL of the client ends with the prefix of the API"
	case line != "" && len(line) <= maxForeign && line[0] != '<' && utf8.ValidString(line):
		hint = ": " + line
	}
	return fmt.Errorf("%s %s: status %d, but the response is not from the API%s", method, path, status, hint)
}

// get and post send a request and return the response as a T.
func get[T any](ctx context.Context, c *Client, path string) (out T, err error) {
	err = c.Do(ctx, http.MethodGet, path, nil, &out)
	return out, err
}

// The number of elements of a list, by default and at most.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// list returns up to limit elements of a list. The API may end a page before its limit because of its size; list then follows the link to
// the next page.
func list[T any](ctx context.Context, c *Client, path string, limit int, pairs ...any) ([]T, error) {
	all, limit := []T{}, min(cmp.Or(limit, defaultLimit), maxLimit)
	for next := query(append(pairs, "limit", limit)...); ; {
		var page []T
		header, err := c.send(ctx, http.MethodGet, path+next, nil, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		link := nextLink(header)
		if link == nil || len(page) == 0 || len(all) >= limit {
			return all[:min(limit, len(all))], nil
		}
		parameters := link.Query()
		parameters.Set("limit", strconv.Itoa(limit-len(all)))
		next = "?" + parameters.Encode()
	}
}

// nextLink returns the URL of the Link header with the relation "next", or nil. Its host may be one that only the API can reach.
func nextLink(header http.Header) *url.URL {
	for _, link := range header.Values("Link") {
		target, relation, _ := strings.Cut(link, ">")
		if strings.TrimSpace(relation) == `; rel="next"` {
			if u, err := url.Parse(strings.TrimPrefix(target, "<")); err == nil {
				return u
			}
		}
	}
	return nil
}

func post[T any](ctx context.Context, c *Client, path string, body any) (out T, err error) {
	err = c.Do(ctx, http.MethodPost, path, body, &out)
	return out, err
}

func (c *Client) post(ctx context.Context, path string, body any) error {
	return c.Do(ctx, http.MethodPost, path, body, nil)
}

// appPath returns the path of an app with further segments.
func appPath(app string, segments ...string) string {
	path := "/apps/" + url.PathEscape(app)
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	return path
}

// query returns the query of a path. pairs alternates names and values. Empty values and 0 are omitted.
func query(pairs ...any) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if text := fmt.Sprint(pairs[i+1]); text != "" && text != "0" {
			values.Set(pairs[i].(string), text)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// The bounds of the timeout of operations that wait.
const (
	MinWait = time.Second
	MaxWait = 10 * time.Minute
)

// timeoutSeconds returns the timeout parameter of the API: whole seconds within the bounds, empty for 0.
func timeoutSeconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.Itoa(int(min(max(d.Round(time.Second), MinWait), MaxWait) / time.Second))
}
