package rest

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
)

// The error codes of OAuth endpoints (RFC 6749 section 5.2).
const (
	OAuthInvalidRequest   = "invalid_request"
	OAuthInvalidClient    = "invalid_client"
	OAuthInvalidGrant     = "invalid_grant"
	OAuthInvalidScope     = "invalid_scope"
	OAuthUnauthorized     = "unauthorized_client"
	OAuthUnsupportedGrant = "unsupported_grant_type"
	OAuthAccessDenied     = "access_denied"
	OAuthResponseType     = "unsupported_response_type"
	oauthServerError      = "server_error"
	oauthUnsupported      = "unsupported_operation" // not defined by the RFC
)

// OAuthError is an error of an OAuth endpoint. Code and Description are for the caller.
type OAuthError struct {
	Code        string
	Description string
	Status      int // default: 400
	Header      http.Header
}

// Error returns the message for the log.
func (e *OAuthError) Error() string { return e.Code + ": " + e.Description }

// OAuthFail returns an OAuth error with the status 400.
func OAuthFail(code, description string) *OAuthError {
	return &OAuthError{Code: code, Description: description}
}

// OAuthErrorBody is the body of an error of an OAuth endpoint.
type OAuthErrorBody struct {
	Error       string `json:"error" readOnly:"true" doc:"Code of the error (RFC 6749 section 5.2)."`
	Description string `json:"error_description" readOnly:"true" doc:"What went wrong, in one sentence."`
}

// oauthError converts the error of an OAuth endpoint to an OAuth error, or returns nil for the rate limit, which has the same form
// everywhere.
func oauthError(err error) *OAuthError {
	if e, ok := errors.AsType[*OAuthError](err); ok {
		return e
	}
	wire := wireError(err)
	switch wire.Code {
	case CodeInternal:
		return &OAuthError{Code: oauthServerError, Description: wire.summary(), Status: http.StatusInternalServerError}
	case CodeUnavailable:
		return &OAuthError{Code: oauthServerError, Description: wire.summary(), Status: wire.Status(), Header: wire.Header}
	case CodeUnsupported:
		return &OAuthError{Code: oauthUnsupported, Description: wire.summary(), Status: http.StatusNotImplemented}
	case CodeRateLimit:
		return nil
	}
	description := wire.summary()
	if len(wire.Causes) > 0 {
		description = wire.Causes[0]
	}
	return &OAuthError{Code: OAuthInvalidRequest, Description: description, Status: wire.Status(), Header: wire.Header}
}

const formType = "application/x-www-form-urlencoded"

// bindForm binds the parameters of a form. They may also be in the query. No parameter may occur twice (RFC 6749 section 3.2), which
// includes once in the body and once in the query.
func (s *requestShape) bindForm(to reflect.Value, in *input, causes *Causes) error {
	if len(s.form) == 0 {
		return nil
	}
	values, err := readForm(in)
	if err != nil {
		return err
	}
	if err := checkParameters(values); err != nil {
		return err
	}
	query := in.request.URL.Query()
	for _, f := range s.form {
		sent := slices.Concat(values[f.name], query[f.name])
		if len(sent) > 1 {
			causes.Add(f.name, "The parameter must not be repeated")
			continue
		}
		text := ""
		if len(sent) == 1 {
			text = sent[0]
		}
		f.bindText(f.of(to), text, causes)
	}
	return nil
}

func readForm(in *input) (url.Values, error) {
	data, err := io.ReadAll(http.MaxBytesReader(nil, in.request.Body, in.limit))
	if err != nil {
		return nil, Failf(CodeBody, "The request body could not be read, or is larger than %d bytes.", in.limit)
	}
	if len(data) == 0 {
		return nil, nil
	}
	if media, _, err := mime.ParseMediaType(in.request.Header.Get("Content-Type")); err != nil || media != formType {
		return nil, Failf(CodeMediaType, "The body must be %s.", formType)
	}
	values, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, Failf(CodeBody, "The body is not %s.", formType)
	}
	return values, nil
}
