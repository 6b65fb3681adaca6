package pull

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/signature"
	"github.com/scimwright/scimwright/engine/internal/spans"
	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/scim"
)

// Options configure a Directory. URL, Secrets and Target are required.
type Options struct {
	// URL is the beginning of the URLs of the queries: the path /user follows, for example.
	URL string
	// Secrets sign the requests, each "whsec_" and 24 to 64 bytes as base64. During a rotation there are several.
	Secrets []string
	// Target returns the connection and options of an app, as engine.Directory.Target.
	Target func(ctx context.Context, app string) (engine.Target, error)

	// Egress is the policy for the address of the endpoint. Default: every address except link-local ones and metadata services.
	Egress engine.Egress
	// AllowHTTP allows a URL without TLS. Default: https only, because responses contain attributes and passwords of users.
	AllowHTTP bool
	// Transport sends the requests. Default: connections of the Directory. Egress does not apply to a given Transport.
	Transport http.RoundTripper
	// Timeout is the time limit of a request. Default: DefaultTimeout.
	Timeout time.Duration
	// Concurrency is the maximum number of concurrent requests. Default: DefaultConcurrency.
	Concurrency int
	// MaxResponse is the maximum size of a response in bytes. Default: DefaultMaxResponse.
	MaxResponse int64
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

const userAgent = "scimwright-pull"

// Directory is an engine.Directory and an engine.Lister. It may be used by several goroutines.
type Directory struct {
	o      Options
	base   string
	keys   [][]byte
	client *http.Client
	close  func()
	places chan struct{} // has an element for each request in flight
}

var (
	_ engine.Directory = (*Directory)(nil)
	_ engine.Lister    = (*Directory)(nil)
)

// New returns a Directory. It sends nothing before the first query. The error is about Options: Target, URL and Secrets are required and
// checked, numbers must not be negative.
func New(o Options) (*Directory, error) {
	if o.Target == nil {
		return nil, errors.New("pull: Options.Target is required")
	}
	keys, err := signature.Keys(o.Secrets...)
	if err != nil {
		return nil, fmt.Errorf("pull: Options.Secrets: %w", err)
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("pull: Options.URL is not a URL")
	case u.Scheme != "https" && (u.Scheme != "http" || !o.AllowHTTP):
		return nil, errors.New("pull: Options.URL must begin with https://")
	case u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("pull: Options.URL has a host and a path, and no credentials, query or fragment")
	case o.Timeout < 0 || o.Concurrency < 0 || o.MaxResponse < 0:
		return nil, errors.New("pull: Options must not be negative")
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Concurrency = cmp.Or(o.Concurrency, DefaultConcurrency)
	o.MaxResponse = cmp.Or(o.MaxResponse, DefaultMaxResponse)
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Directory{
		o: o, base: strings.TrimRight(o.URL, "/"), keys: keys, close: func() {}, places: make(chan struct{}, o.Concurrency),
	}
	transport := o.Transport
	if transport == nil {
		policy := egress.Policy{Range: egress.Range(o.Egress.Range), Allow: o.Egress.Allow, Own: o.Egress.Own}
		own := policy.Transport(o.Concurrency)
		transport, d.close = own, own.CloseIdleConnections
	}
	d.client = &http.Client{
		Transport: transport, Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return d, nil
}

// Close closes idle connections. The Directory can still be used.
func (d *Directory) Close() { d.close() }

// Target implements engine.Directory.
func (d *Directory) Target(ctx context.Context, app string) (engine.Target, error) {
	return d.o.Target(ctx, app)
}

// query is a request to the endpoint.
type query struct {
	d             *Directory
	path, app, id string
}

func (q query) fail(p Problem, status int, detail string) error {
	return &Error{Path: q.path, App: q.app, ID: q.id, Problem: p, Status: status, Detail: detail}
}

// incomplete returns the error of a member that is missing or not valid.
func (q query) incomplete(detail string) error { return q.fail(Incomplete, http.StatusOK, detail) }

// send sends a request and decodes the response.
func (q query) send(ctx context.Context, request, response any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	select {
	case q.d.places <- struct{}{}:
		defer func() { <-q.d.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	data, err := q.exchange(ctx, body)
	if err != nil {
		return err
	}
	// scim.Decode rejects duplicate members, text after the object and invalid UTF-8, which encoding/json accepts.
	if _, err := scim.Decode(data); err != nil {
		return q.fail(NotJSON, http.StatusOK, "the response is not one JSON object with unique member names, in UTF-8")
	}
	if err := json.Unmarshal(data, response); err != nil {
		return q.fail(NotJSON, http.StatusOK, "a member of the response has another type")
	}
	return nil
}

// exchange sends a signed request and returns the body of the response.
func (q query) exchange(ctx context.Context, body []byte) (data []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.d.base+q.path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("pull: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", userAgent)
	signature.Sign(r.Header, q.d.keys, "msg_"+rand.Text(), q.d.o.Now(), body)
	status := 0
	ctx, ended := spans.Pull(ctx, q.path, r.URL)
	defer func() { ended(status) }()
	res, err := q.d.client.Do(r.WithContext(ctx))
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = res.Body.Close()
		}
		return nil, ctx.Err()
	case err != nil:
		if rejected, ok := errors.AsType[*egress.Error](err); ok {
			return nil, q.fail(Unreachable, 0, rejected.Error())
		}
		return nil, q.fail(Unreachable, 0, "no response: "+egress.Describe(err))
	}
	defer res.Body.Close()
	status = res.StatusCode
	data, err = io.ReadAll(io.LimitReader(res.Body, q.d.o.MaxResponse+1))
	media, _, mediaErr := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode/100 == 3:
		return nil, q.fail(Redirected, res.StatusCode, fmt.Sprintf("the endpoint responded %d: redirects are not followed", res.StatusCode))
	case res.StatusCode != http.StatusOK:
		return nil, q.fail(BadStatus, res.StatusCode, fmt.Sprintf("the endpoint responded %d", res.StatusCode))
	case err != nil:
		return nil, q.fail(Unreachable, res.StatusCode, "the response has ended early: "+egress.Describe(err))
	case int64(len(data)) > q.d.o.MaxResponse:
		return nil, q.fail(TooLong, res.StatusCode, fmt.Sprintf("the response is longer than %d bytes", q.d.o.MaxResponse))
	case mediaErr != nil || media != "application/json":
		return nil, q.fail(NotJSON, res.StatusCode, "the response has not the media type application/json")
	}
	return data, nil
}

// about returns an error unless the response is about the app and the id of the request.
func (q query) about(app, id string) error {
	switch {
	case app == "" || id == "" && q.id != "":
		return q.incomplete("the response has no app or id")
	case app != q.app || id != q.id:
		return q.fail(OtherObject, http.StatusOK, "the response is about another object")
	}
	return nil
}

// want returns the state of a response.
func (q query) want(state string, allowed ...engine.Want) (engine.Want, error) {
	for _, w := range allowed {
		if string(w) == state {
			return w, nil
		}
	}
	return "", q.incomplete(fmt.Sprintf("the response has no state, or another one than %v", allowed))
}
