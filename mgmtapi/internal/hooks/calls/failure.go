package calls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// CallError says that a hook gave no answer that can be used, after all attempts.
type CallError struct {
	// Where is who failed: the hook's endpoint, or the one that gives its access tokens.
	Where string
	// Text says what went wrong.
	Text string
	// Status of the answer, 0 when there was none.
	Status int
	// Excerpt is the beginning of the answer of a hook endpoint, without secrets. Of token endpoints nothing is quoted.
	Excerpt string
	// Attempts is how often it was tried.
	Attempts int

	final bool // trying again is of no use
}

// Answered says whether there was an answer, though not one that can be used.
func (f *CallError) Answered() bool { return f.Status != 0 }

func (f *CallError) Error() string {
	return fmt.Sprintf("%s %s (attempts: %d)", f.Where, f.Text, f.Attempts)
}

// Whom a failure is about.
const (
	hookEndpoint  = "the hook endpoint"
	tokenEndpoint = "the token endpoint"
)

// unanswered words the error of a request that got no answer.
func (c *Caller) unanswered(where string, err error) *CallError {
	f := &CallError{Where: where}
	if refused, ok := errors.AsType[*egress.Error](err); ok {
		f.Text, f.final = "has an address that is not allowed: "+refused.Error(), true
		return f
	}
	wrapped, isURL := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || isURL && wrapped.Timeout():
		f.Text = fmt.Sprintf("did not answer within %s", c.timeout)
	case errors.Is(err, context.Canceled):
		f.Text, f.final = "was not waited for", true
	default:
		f.Text = "could not be reached: " + egress.Describe(err)
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			f.Text += "; trusted are " + c.trusted
		}
	}
	return f
}

// unusable words an answer that cannot be used.
func unusable(where string, status int, text string, body []byte, secrets []string) *CallError {
	return &CallError{Where: where, Status: status, Text: text, Excerpt: excerpt(body, secrets)}
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("answered with %d %s", status, http.StatusText(status)))
}

// excerpt is the beginning of what an endpoint has sent, without the secrets that it was sent.
func excerpt(body []byte, secrets []string) string {
	text := harmless(string(body[:min(len(body), 4*maxExcerpt)]), secrets)
	return strings.ToValidUTF8(text[:min(len(text), maxExcerpt)], "")
}

// harmless takes secrets out of a text.
func harmless(text string, secrets []string) string {
	return wirelog.NewRedactor(secrets...).Text(text)
}
