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

// failure is a response that ends a sequence.
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

// Refusal returns the reason why a response is not a success, with the target's error detail; empty for a success.
func Refusal(r Response) string {
	if r = errorInSuccess(r); ok(r) {
		return ""
	}
	return fail(r).message
}

// fail classifies an unusable response.
func fail(r Response) *failure {
	if foreignNotFound(r) {
		return foreignNotFoundFailure(r)
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
		return engine.Transient // also if there is no response, or an unexpected one
	case r.Err != nil && r.Status == 0:
		return engine.Transient
	default:
		return engine.Rejected
	}
}

// notFound reports whether the response is a 404 of the target. A body that is not JSON comes from another server, such as a proxy.
func notFound(r Response) bool {
	return r.Err == nil && r.Status == http.StatusNotFound && r.Page == ""
}

// foreignNotFound reports whether the response is a 404 of another server, such as a proxy.
func foreignNotFound(r Response) bool {
	return r.Err == nil && r.Status == http.StatusNotFound && r.Page != ""
}

// ok reports whether the response is a readable success.
func ok(r Response) bool { return r.Err == nil && r.Status >= 200 && r.Status < 300 }

// mayHaveEffect reports whether a failed request may have been carried out.
func mayHaveEffect(r Response) bool {
	return r.Err != nil || r.Status == http.StatusRequestTimeout || r.Status >= 500 && classOf(r) != engine.Throttled
}

// conflict reports whether a create was rejected because the resource exists. Not every server returns 409.
func conflict(r Response) bool {
	return r.Status == http.StatusConflict ||
		r.Status == http.StatusBadRequest && r.Body != nil && strings.EqualFold(r.Body.Text("scimType"), string(scim.Uniqueness))
}

// unsupported reports whether the target does not support the method, so that another one may be tried.
func unsupported(r Response) bool {
	return r.Err == nil && (r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented)
}

// misformed reports whether a PATCH may have been rejected because of its form. Few targets set a scimType, so any 400 counts.
func misformed(r Response) bool { return r.Err == nil && r.Status == http.StatusBadRequest }

// unfiltered reports whether a lookup may have been rejected because the target does not support filters.
func unfiltered(r Response) bool {
	return r.Err == nil && (r.Status == http.StatusBadRequest || r.Status == http.StatusNotImplemented)
}

// tooLarge reports whether a request was rejected for its size, without effect.
func tooLarge(r Response) bool {
	return r.Err == nil && (r.Status == http.StatusRequestEntityTooLarge ||
		r.Status == http.StatusBadRequest && r.Body != nil && strings.EqualFold(r.Body.Text("scimType"), string(scim.TooMany)))
}

// slow reports whether a request may have failed because the target could not process a request of that size in time.
func slow(r Response) bool {
	return errors.Is(r.Err, context.DeadlineExceeded) || r.Status == http.StatusRequestTimeout || r.Status == http.StatusGatewayTimeout
}

// errorInSuccess converts a response with a success status and an error in its body (RFC 7644 section 3.12) to an error response.
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
	r.Body.Set("detail", strings.TrimSpace(fmt.Sprintf("error in a response with status %d: %s", answered, r.Body.Text("detail"))))
	return r
}

func linksAllowed() (string, error) { return "", nil }

// haltedLink returns a failure if links are halted, so that the sequence must not link a found resource.
func haltedLink(halted func() (string, error), out *Outcome) *failure {
	why, err := halted()
	switch {
	case err != nil:
		return transient(Response{}, "the halts cannot be read: "+errtext.Plain(err))
	case why == "":
		return nil
	}
	out.Operation, out.Halted = engine.OpLink, true
	return &failure{class: engine.Held, message: why}
}

// maxRounds is the maximum number of times that a sequence starts again because a resource was deleted or changed concurrently.
const maxRounds = 3

func (f *failure) in(what string) *failure {
	g := *f
	g.message = fmt.Sprintf("%s: %s", what, f.message)
	return &g
}
