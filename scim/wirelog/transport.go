package wirelog

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// maxCapture limits the part of a body that is kept in memory during an exchange. It is larger than an excerpt, so that a secret at the end
// of the excerpt is captured completely.
const maxCapture = 64 << 10

// Transport returns a RoundTripper that sends requests with next (nil: http.DefaultTransport) and calls sink once per request: when the
// response's body was read to its end, could not be read or was closed, or when the request got no response. Several goroutines may call
// sink concurrently.
func Transport(next http.RoundTripper, sink func(Exchange), o Options) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &transport{next: next, sink: sink, o: o, redact: NewRedactor(o.Secrets...)}
}

type transport struct {
	next   http.RoundTripper
	sink   func(Exchange)
	o      Options
	redact *Redactor
}

// recording is an exchange in progress. The next transport may still read the request body after it has returned the response, so a lock
// protects the recording.
type recording struct {
	t        *transport
	start    time.Time
	mu       sync.Mutex
	request  []byte
	response []byte
	done     bool
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := &recording{t: t, start: t.o.Now()}
	sent := req
	if req.Body != nil && req.Body != http.NoBody {
		sent = req.Clone(req.Context())
		sent.Body = &tee{src: req.Body, rec: rec, into: &rec.request}
		if body := req.GetBody; body != nil {
			sent.GetBody = func() (io.ReadCloser, error) {
				src, err := body()
				if err != nil {
					return nil, err
				}
				rec.restart()
				return &tee{src: src, rec: rec, into: &rec.request}, nil
			}
		}
	}
	resp, err := t.next.RoundTrip(sent)
	if err != nil {
		rec.finish(req, nil, err)
		return nil, err
	}
	resp.Body = &tee{src: resp.Body, rec: rec, into: &rec.response, end: func(err error) { rec.finish(req, resp, err) }}
	return resp, nil
}

// restart discards the request body captured so far, because the transport sends the body again from its start on another connection.
func (r *recording) restart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.request = nil
}

func (r *recording) finish(req *http.Request, resp *http.Response, err error) {
	r.mu.Lock()
	if r.done {
		r.mu.Unlock()
		return
	}
	r.done = true
	request, response := bytes.Clone(r.request), bytes.Clone(r.response)
	r.mu.Unlock()

	t := r.t
	e := Exchange{
		At:            r.start,
		Method:        req.Method,
		URL:           t.redact.url(req.URL),
		RequestHeader: t.redact.header(req.Header),
		RequestBody:   cut(t.redact.body(request, req.Header.Get("Content-Type")), t.o.MaxBody),
		Duration:      t.o.Now().Sub(r.start),
	}
	if resp != nil {
		e.Status = resp.StatusCode
		e.ResponseHeader = t.redact.header(resp.Header)
		e.ResponseBody = cut(t.redact.body(response, resp.Header.Get("Content-Type")), t.o.MaxBody)
	}
	if err != nil {
		e.Err = t.redact.Text(err.Error())
	}
	t.sink(e)
}

// tee copies up to maxCapture bytes of the data read from src. If end is not nil, tee calls it when reading has finished.
type tee struct {
	src  io.ReadCloser
	rec  *recording
	into *[]byte
	end  func(error)
}

// Read implements io.Reader.
func (b *tee) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	b.rec.mu.Lock()
	if room := maxCapture - len(*b.into); room > 0 {
		*b.into = append(*b.into, p[:min(n, room)]...)
	}
	b.rec.mu.Unlock()
	if err != nil && b.end != nil {
		if errors.Is(err, io.EOF) {
			b.end(nil)
		} else {
			b.end(err)
		}
	}
	return n, err
}

// Close finishes the recording, also if the body was not read to its end.
func (b *tee) Close() error {
	err := b.src.Close()
	if b.end != nil {
		b.end(nil)
	}
	return err
}
