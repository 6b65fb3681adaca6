// Package conformancetest runs the conformance suite in a Go test against an http.Handler, without a network and without a separate
// process. Authors of a SCIM server in Go can test its conformance with one line.
//
// It is a thin wrapper of package conformance for package testing. Programs other than tests use conformance.Run with [Transport].
package conformancetest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/waivers"
)

// Options configure a test. The zero value runs every check without credentials at the root of the handler.
type Options struct {
	// Prefix is the path of the handler's base URL, for example "/scim/v2". Default: no prefix.
	Prefix string
	// Token is sent as a bearer token. Default: none.
	Token string
	// Header is sent with every request.
	Header http.Header
	// Waivers is the path of a file of accepted findings (package waivers). Default: none. A waiver that matches no finding fails the test:
	// the file and the server are in one repository and change together.
	Waivers string
	// Suite are the options of the run. Checks defaults to all checks, Order to checks.Order. Writes are allowed, because the handler
	// belongs to the test.
	Suite conformance.Options
}

// Run runs the suite against a handler, with a subtest for each check, and returns the result. A check that fails or warns fails its
// subtest with the finding, the request and the fix. A check that does not apply is skipped with the reason. A handler that cannot be
// tested fails the test.
func Run(t *testing.T, h http.Handler, opts Options) *conformance.Result {
	t.Helper()
	suite := opts.Suite
	suite.AllowWrites = true
	if suite.Checks == nil && suite.Profiles == nil {
		suite.Checks = checks.All()
	}
	if suite.Order == nil {
		suite.Order = checks.Order()
	}
	var accepted waivers.List
	if opts.Waivers != "" {
		var err error
		if accepted, err = waivers.Read(opts.Waivers, checks.All()); err != nil {
			t.Fatal(err)
		}
	}
	target := conformance.Target{URL: "http://127.0.0.1/" + strings.Trim(opts.Prefix, "/"), Token: opts.Token, Header: opts.Header,
		Transport: Transport(h)}
	result, err := conformance.Run(t.Context(), target, suite)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now
	if suite.Now != nil {
		now = suite.Now
	}
	accepted.Apply(result, now(), true)
	for c := range result.All() {
		t.Run(c.Check.ID, func(t *testing.T) { report(t, *c) })
	}
	for _, complaint := range result.Complaints {
		t.Error(complaint)
	}
	if result.Verdict == conformance.Untested {
		t.Errorf("the handler could not be tested: %s", result.Reason)
	}
	return result
}

func report(t *testing.T, c conformance.CheckResult) {
	t.Helper()
	switch c.Outcome {
	case conformance.Skip:
		t.Skip(c.Reason)
	case conformance.Error:
		t.Error(c.Reason)
	}
	for _, f := range c.Findings {
		text := fmt.Sprintf("%s\n%s: expected %s, got %s", c.Check.Title, f.What, f.Want, f.Got)
		if f.Exchange != nil {
			text += fmt.Sprintf("\n%s %s\n%s\n%d %s", f.Exchange.Method, f.Exchange.URL, f.Exchange.RequestBody, f.Exchange.Status,
				f.Exchange.ResponseBody)
		}
		switch {
		case f.Outcome == conformance.Info || f.Waiver != nil:
			t.Log(text)
		default:
			t.Errorf("%s\nfix: %s", text, c.Check.Fix)
		}
	}
}

// Transport passes requests to a handler without a network. A handler that panics is an aborted connection, as in net/http. When the
// context of a request ends, Transport returns an error and does not wait for the handler.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "192.0.2.1:1234"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	type answer struct {
		response *http.Response
		err      error
	}
	done := make(chan answer, 1)
	go func() {
		recorder := httptest.NewRecorder()
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("%w: the handler panicked: %v", io.ErrUnexpectedEOF, p)}
			}
			in.Body.Close()
			done <- a
		}()
		t.handler.ServeHTTP(recorder, in)
		a.response = recorder.Result()
	}()
	select {
	case a := <-done:
		return a.response, a.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
