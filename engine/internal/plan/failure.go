package plan

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/scim"
)

// failure is an answer that ends a sequence.
type failure struct {
	class      engine.Class
	status     int
	scimType   string
	message    string
	retryAfter string
}

func transient(r Response, message string) *failure {
	return &failure{class: engine.Transient, status: r.Status, message: message}
}

func rejected(r Response, message string) *failure {
	return &failure{class: engine.Rejected, status: r.Status, message: message}
}

// Refusal returns why a response is not a success, with what the target says about it; empty for a success.
func Refusal(r Response) string {
	if r = errorInSuccess(r); ok(r) {
		return ""
	}
	return fail(r).message
}

// fail classifies an answer that a sequence has no use for.
func fail(r Response) *failure {
	if strayed(r) {
		return elsewhere(r)
	}
	f := &failure{class: classOf(r), status: r.Status, retryAfter: r.RetryAfter}
	var detail string
	if r.Body != nil {
		detail = r.Body.Text("detail")
		f.scimType = r.Body.Text("scimType")
	}
	switch {
	case r.Err != nil:
		f.message = r.Err.Error()
	case detail != "":
		f.message = strings.TrimSpace(strconv.Itoa(r.Status)+" "+f.scimType) + ": " + detail
	case f.scimType != "":
		f.message = strconv.Itoa(r.Status) + " " + f.scimType
	default:
		f.message = strings.TrimSpace(strconv.Itoa(r.Status) + " " + http.StatusText(r.Status))
	}
	return f
}

func classOf(r Response) engine.Class {
	switch {
	case r.Status == http.StatusTooManyRequests,
		r.Status == http.StatusServiceUnavailable && r.RetryAfter != "":
		return engine.Throttled
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		return engine.Denied
	case r.Status == http.StatusRequestTimeout, r.Status == http.StatusTooEarly, r.Status < 400, r.Status >= 500:
		return engine.Transient // also: no answer, and answers where another one was expected
	case r.Err != nil && r.Status == 0:
		return engine.Transient
	default:
		return engine.Rejected
	}
}

// missed reports whether the answer says that a resource is not there. A page that is not JSON comes from something else.
func missed(r Response) bool { return r.Err == nil && r.Status == http.StatusNotFound && r.Page == "" }

// strayed reports whether something else than the target says so.
func strayed(r Response) bool { return r.Err == nil && r.Status == http.StatusNotFound && r.Page != "" }

// ok says whether the answer is a readable success.
func ok(r Response) bool { return r.Err == nil && r.Status >= 200 && r.Status < 300 }

// unsure says whether a request that failed may have been carried out all the same.
func unsure(r Response) bool {
	return r.Err != nil || r.Status == http.StatusRequestTimeout || r.Status >= 500 && classOf(r) != engine.Throttled
}

// conflict says whether a create was refused because the resource exists. Not every server answers 409.
func conflict(r Response) bool {
	return r.Status == http.StatusConflict ||
		r.Status == http.StatusBadRequest && r.Body != nil && strings.EqualFold(r.Body.Text("scimType"), string(scim.Uniqueness))
}

// unsupported says whether the target does not know the method, so that another may be tried.
func unsupported(r Response) bool {
	return r.Err == nil && (r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented)
}

// misformed says whether a PATCH may have been refused for its form. Few targets say so by a scimType, so that any 400 counts.
func misformed(r Response) bool { return r.Err == nil && r.Status == http.StatusBadRequest }

// unfiltered says whether a lookup may have been refused because the target cannot filter.
func unfiltered(r Response) bool {
	return r.Err == nil && (r.Status == http.StatusBadRequest || r.Status == http.StatusNotImplemented)
}

// tooLarge says whether a request was refused for its size, and nothing was done.
func tooLarge(r Response) bool {
	return r.Err == nil && (r.Status == http.StatusRequestEntityTooLarge ||
		r.Status == http.StatusBadRequest && r.Body != nil && strings.EqualFold(r.Body.Text("scimType"), string(scim.TooMany)))
}

// slow says whether a request may have been too large to be answered in time.
func slow(r Response) bool {
	return errors.Is(r.Err, context.DeadlineExceeded) || r.Status == http.StatusRequestTimeout || r.Status == http.StatusGatewayTimeout
}

// errorInSuccess takes a success that carries an error (RFC 7644 section 3.12) for that error.
func errorInSuccess(r Response) Response {
	if !ok(r) || r.Body == nil || !(&scim.Resource{Object: *r.Body}).HasSchema(scim.ErrorMessage) {
		return r
	}
	answered := r.Status
	r.Status = http.StatusInternalServerError
	if n, ok := count(r.Body, "status"); ok && n >= 400 && n < 600 {
		r.Status = n
	}
	r.Body = r.Body.Clone()
	r.Body.Set("detail", strings.TrimSpace(fmt.Sprintf("answered with status %d: %s", answered, r.Body.Text("detail"))))
	return r
}

func linksAllowed() (string, error) { return "", nil }

// haltedLink ends a sequence that must not link what a lookup found.
func haltedLink(halted func() (string, error), out *Outcome) *failure {
	why, err := halted()
	switch {
	case err != nil:
		return transient(Response{}, "whether links are halted cannot be told: "+errtext.Plain(err))
	case why == "":
		return nil
	}
	out.Operation, out.Halted = engine.OpLink, true
	return &failure{class: engine.Held, message: why}
}

// maxRounds bounds how often one sequence goes back to its beginning (a resource that vanishes or changes meanwhile).
const maxRounds = 3

func (f *failure) in(what string) *failure {
	g := *f
	g.message = fmt.Sprintf("%s: %s", what, f.message)
	return &g
}
