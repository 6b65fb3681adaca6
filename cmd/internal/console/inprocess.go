package console

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"

	"github.com/scimwright/scimwright/engine/control"
	api "github.com/scimwright/scimwright/engine/control/client"
)

// InProcess returns a transport that calls a handler in this process. The response is in memory.
func InProcess(h http.Handler) http.RoundTripper { return inProcess{handler: h} }

// client returns a client of the control API with the authority of a session, which calls the handler in this process.
func (c *console) client(v *Visit) *api.Client {
	out := api.New("http://in-process"+c.o.Prefix, v.session.Credential)
	out.Scheme, out.HTTP = c.o.Scheme, &http.Client{Transport: inProcess{c.o.API, v, nil}}
	return out
}

// management returns a client of the management API with the authority of a session. Its paths begin with the prefix of the API. If header
// is not nil, it receives the header of the last response.
func (c *console) management(v *Visit, header *http.Header) *api.Client {
	out := api.New("http://in-process", v.session.Credential)
	out.Scheme, out.HTTP = c.o.Scheme, &http.Client{Transport: inProcess{c.o.Management, v, header}}
	return out
}

// inProcess is an http.RoundTripper that calls a handler.
type inProcess struct {
	handler http.Handler
	visit   *Visit       // nil: not a request of a session
	header  *http.Header // receives the header of the response; nil: none does
}

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, remote := r.Context(), "127.0.0.1:0"
	if p.visit != nil {
		ctx, remote = context.WithValue(ctx, callerKey{}, p.visit.caller), p.visit.remote
	}
	call := r.Clone(ctx)
	call.RequestURI, call.RemoteAddr, call.Host = r.URL.RequestURI(), remote, r.URL.Host
	if r.URL.Scheme == "https" {
		call.TLS = &tls.ConnectionState{}
	}
	if p.visit != nil && p.visit.agent != "" {
		call.Header.Set("User-Agent", p.visit.agent)
	}
	if call.Body == nil {
		call.Body = http.NoBody
	}
	w := &recorded{header: http.Header{}}
	p.handler.ServeHTTP(w, call)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if p.header != nil {
		*p.header = w.header
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.header,
		Body: io.NopCloser(bytes.NewReader(w.body.Bytes())), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorded is an http.ResponseWriter that stores the response.
type recorded struct {
	header http.Header
	body   bytes.Buffer
	status int
}

func (w *recorded) Header() http.Header { return w.header }

func (w *recorded) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorded) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// operations returns the operations of the control API by id.
func operations(prefix string) map[string]control.Operation {
	all := map[string]control.Operation{}
	for _, op := range control.Operations(prefix) {
		all[op.ID] = op
	}
	return all
}
