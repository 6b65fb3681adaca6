package calls

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// CallError is the error for a hook call without a usable response after all attempts.
type CallError struct {
	// Where is the failed endpoint: that of the hook, or its token endpoint.
	Where string
	// Text is the cause.
	Text string
	// Status is the HTTP status of the response, 0 without a response.
	Status int
	// Excerpt is the start of the response of a hook endpoint, without secrets. Responses of token endpoints are not quoted.
	Excerpt string
	// Attempts is the number of attempts.
	Attempts int

	final bool // no further attempt is made, because it cannot succeed
}

// Answered reports whether there was a response, even an unusable one.
func (f *CallError) Answered() bool { return f.Status != 0 }

func (f *CallError) Error() string {
	return fmt.Sprintf("%s %s (attempts: %d)", f.Where, f.Text, f.Attempts)
}

// The endpoints in errors.
const (
	hookEndpoint  = "the hook endpoint"
	tokenEndpoint = "the token endpoint"
)

// noResponse returns the error of a request without a response.
func (c *Caller) noResponse(where string, err error) *CallError {
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
		f.Text, f.final = "did not answer before the request was canceled", true
	default:
		f.Text = "could not be reached: " + egress.Describe(err)
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			f.Text += "; trusted certificates: " + c.trusted
		}
	}
	return f
}

// badResponse returns the error for an unusable response.
func badResponse(where string, status int, text string, body []byte, secrets []string) *CallError {
	return &CallError{Where: where, Status: status, Text: text, Excerpt: excerpt(body, secrets)}
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("answered with %d %s", status, http.StatusText(status)))
}

// excerpt returns the start of a response without the secrets of the request.
func excerpt(body []byte, secrets []string) string {
	text := redact(string(body[:min(len(body), 4*maxExcerpt)]), secrets)
	return strings.ToValidUTF8(text[:min(len(text), maxExcerpt)], "")
}

// redact removes secrets from a text.
func redact(text string, secrets []string) string {
	return wirelog.NewRedactor(secrets...).Text(text)
}

// record returns a JSON text for the log, without secrets. It encodes the decoded text again, because the text may spell a secret with
// other escapes, which redact would not find.
func record(text []byte, secrets []string) string {
	if len(text) == 0 {
		return ""
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return excerpt(text, secrets)
	}
	encoded, err := json.Marshal(without(value, secrets))
	if err != nil {
		return ""
	}
	out := redact(string(encoded), secrets)
	return strings.ToValidUTF8(out[:min(len(out), maxRecord)], "")
}

// without returns a decoded JSON value in which the strings that are a secret are replaced, however short they are.
func without(value any, secrets []string) any {
	switch v := value.(type) {
	case string:
		if v != "" && slices.Contains(secrets, v) {
			return wirelog.Redacted
		}
	case []any:
		for i := range v {
			v[i] = without(v[i], secrets)
		}
	case map[string]any:
		for name := range v {
			v[name] = without(v[name], secrets)
		}
	}
	return value
}
