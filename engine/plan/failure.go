package plan

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// failure is an answer that ends a sequence.
type failure struct {
	class      Class
	status     int
	scimType   string
	message    string
	retryAfter string
}

func transient(r Response, message string) *failure {
	return &failure{class: Transient, status: r.Status, message: message}
}

func rejected(r Response, message string) *failure {
	return &failure{class: Rejected, status: r.Status, message: message}
}

// fail classifies an answer that a sequence has no use for.
func fail(r Response) *failure {
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

func classOf(r Response) Class {
	switch {
	case r.Status == http.StatusTooManyRequests,
		r.Status == http.StatusServiceUnavailable && r.RetryAfter != "":
		return Throttled
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		return Denied
	case r.Status == http.StatusRequestTimeout, r.Status == http.StatusTooEarly, r.Status < 400, r.Status >= 500:
		return Transient // also: no answer, and answers where another one was expected
	case r.Err != nil && r.Status == 0:
		return Transient
	default:
		return Rejected
	}
}

// ok says whether the answer is a readable success.
func ok(r Response) bool { return r.Err == nil && r.Status >= 200 && r.Status < 300 }

// unsure says whether a request that failed may have been carried out all the same.
func unsure(r Response) bool {
	return r.Err != nil || r.Status == http.StatusRequestTimeout || r.Status >= 500 && classOf(r) != Throttled
}

// conflict says whether a create was refused because the resource exists. Not every server answers 409.
func conflict(r Response) bool {
	return r.Status == http.StatusConflict ||
		r.Status == http.StatusBadRequest && r.Body != nil && strings.EqualFold(r.Body.Text("scimType"), string(scim.Uniqueness))
}

// unsupported says whether the target does not know the method, so that another may be tried.
func unsupported(r Response) bool {
	return r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented
}

// maxRounds bounds how often one sequence goes back to its beginning (a resource that vanishes or changes meanwhile).
const maxRounds = 3

func (f *failure) in(what string) *failure {
	g := *f
	g.message = fmt.Sprintf("%s: %s", what, f.message)
	return &g
}
