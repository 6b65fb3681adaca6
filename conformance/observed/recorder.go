package observed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// The defaults of Options.
const (
	// DefaultMaxBody is the default of Options.MaxBody, in bytes.
	DefaultMaxBody = 1 << 20
	// DefaultMaxMemory is the default of Options.MaxMemory, in bytes.
	DefaultMaxMemory = 256 << 20
)

// Options configure a [Recorder]. The zero value works.
type Options struct {
	// Transport sends the requests to the server. Default: a clone of http.DefaultTransport. If it decompresses responses, the client receives
	// them decompressed, so compression should be disabled in it.
	Transport http.RoundTripper
	// MaxBody is the maximum size of a recorded body, in bytes. Larger bodies are forwarded unchanged, but not checked. Default: 1 MiB.
	MaxBody int
	// MaxMemory is the maximum size of all recorded bodies, in bytes. Default: 256 MiB.
	MaxMemory int64
	// Hangup closes the connection to the client if the server closes the connection without a response. Default: the recorder returns 502.
	Hangup bool
	// Each, if set, is called with every finished exchange, one at a time.
	Each func(Exchange)
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

// A Recorder is a reverse proxy that records exchanges. It changes only the Host header, which must name the server, and follows no
// redirect.
type Recorder struct {
	proxy *httputil.ReverseProxy
	base  string
	opts  Options

	mu        sync.Mutex
	secrets   []string
	exchanges []Exchange
	kept      int64
	open      sync.WaitGroup
}

// NewRecorder returns a recorder in front of the server with the base URL, such as https://example.com/scim/v2. A client uses
// the recorder's own address as the base URL.
func NewRecorder(base string, opts Options) (*Recorder, error) {
	target, err := url.Parse(base)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" || target.RawQuery != "" ||
		target.Fragment != "" || target.User != nil {
		return nil, fmt.Errorf("%q is not the http or https URL of a server, such as https://example.com/scim/v2", base)
	}
	target.Path = strings.TrimRight(target.Path, "/")
	opts.MaxBody, opts.MaxMemory = cmp.Or(opts.MaxBody, DefaultMaxBody), cmp.Or(opts.MaxMemory, DefaultMaxMemory)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DisableCompression = true
		opts.Transport = transport
	}
	r := &Recorder{base: target.String(), opts: opts}
	r.proxy = &httputil.ReverseProxy{
		Transport: opts.Transport, FlushInterval: -1, ErrorHandler: unreachable,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.URL.RawQuery = p.In.URL.RawQuery
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values := p.In.Header[name]; values != nil {
					p.Out.Header[name] = values
				}
			}
		},
		ModifyResponse: func(res *http.Response) error {
			if p, ok := res.Request.Context().Value(passageKey{}).(*passage); ok {
				p.answer(res)
			}
			return nil
		},
	}
	return r, nil
}

// Target returns the base URL of the server.
func (r *Recorder) Target() string { return r.base }

// Exchanges returns the recorded exchanges in the order of their start. It waits for requests in flight; stop the HTTP server of the
// recorder first.
func (r *Recorder) Exchanges() []Exchange {
	r.open.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return inOrder(r.exchanges)
}

// passageKey is the key of the passage in the context of a request.
type passageKey struct{}

// A passage is an exchange in flight. mu protects c.
type passage struct {
	r *Recorder
	c capture

	mu sync.Mutex // the transport may still read the request when the response has arrived
}

// ServeHTTP implements http.Handler.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.open.Add(1)
	defer r.open.Done()
	p := &passage{r: r,
		c: capture{at: r.opts.Now(), method: req.Method, path: req.URL.EscapedPath(), query: req.URL.RawQuery, requestHeader: req.Header.Clone()}}
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &tee{src: req.Body, p: p, into: &p.c.request, size: &p.c.requestSize}
	}
	// A panic also ends a passage: the client disconnected, or the response was aborted.
	defer p.end()
	r.proxy.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), passageKey{}, p)))
}

// answer starts recording the response.
func (p *passage) answer(res *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.r.learn(p.c) // The secrets are stored before the client receives the response, because its next request may contain them too.
	p.c.status, p.c.responseHeader = res.StatusCode, res.Header.Clone()
	res.Body = &tee{src: res.Body, p: p, into: &p.c.response, size: &p.c.responseSize, failed: true}
}

func (p *passage) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.c.err = err.Error()
}

// end stores the exchange.
func (p *passage) end() {
	p.mu.Lock()
	c := p.c
	p.mu.Unlock()
	c.took = p.r.opts.Now().Sub(c.at)
	p.r.keep(c)
}

// learn adds the secrets of an exchange to those that the recorder redacts. It keeps the last maxSecrets secrets.
func (r *Recorder) learn(c capture) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secretsOf(c) {
		r.secrets = append(slices.DeleteFunc(slices.Clone(r.secrets), func(known string) bool { return known == s }), s)
	}
	r.secrets = r.secrets[max(0, len(r.secrets)-maxSecrets):]
}

func (r *Recorder) keep(c capture) {
	r.learn(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	size := int64(len(c.request) + len(c.response))
	if r.kept += size; r.kept > r.opts.MaxMemory {
		r.kept -= size
		c.request, c.response, c.cut = nil, nil, true
	}
	x := c.redact(r.secrets)
	r.exchanges = append(r.exchanges, x)
	if r.opts.Each != nil {
		r.opts.Each(x)
	}
}

// unreachable sends the response to the client if the server sends none.
func unreachable(w http.ResponseWriter, req *http.Request, err error) {
	if p, ok := req.Context().Value(passageKey{}).(*passage); ok {
		p.fail(err)
		if p.r.opts.Hangup {
			panic(http.ErrAbortHandler) // net/http closes the connection without a response
		}
	}
	body, _ := json.Marshal(scim.Errorf(http.StatusBadGateway, "", "the recording proxy got no response from the server"))
	w.Header().Set("Content-Type", scim.MediaType)
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(body)
}

// A tee copies the bytes that are read, up to the limit of the recorder.
type tee struct {
	src    io.ReadCloser
	p      *passage
	into   *[]byte
	size   *int64
	failed bool // record read errors, because they explain an incomplete response
	ended  bool
}

// Read implements io.Reader.
func (t *tee) Read(b []byte) (int, error) {
	if t.ended {
		// A transport reads a request body once more after its end. If the response is fast, net/http has closed the body by then, and its error
		// would abort the response.
		return 0, io.EOF
	}
	n, err := t.src.Read(b)
	t.ended = errors.Is(err, io.EOF)
	t.p.mu.Lock()
	*t.size += int64(n)
	if room := t.p.r.opts.MaxBody - len(*t.into); n > room {
		t.p.c.cut = true
		*t.into = append(*t.into, b[:max(room, 0)]...)
	} else {
		*t.into = append(*t.into, b[:n]...)
	}
	t.p.mu.Unlock()
	if err != nil && t.failed && !errors.Is(err, io.EOF) {
		t.p.fail(err)
	}
	return n, err
}

// Close implements io.Closer.
func (t *tee) Close() error { return t.src.Close() }
