package scimserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/scimwright/scimwright/internal/outage"
	"github.com/scimwright/scimwright/scim"
)

// methodError is a 405 with the allowed methods.
type methodError struct {
	method string
	allow  []string
}

func (e *methodError) Error() string {
	return fmt.Sprintf("%s is not allowed here; allowed: %s", e.method, strings.Join(e.allow, ", "))
}

// errorReplyFor converts an error to the reply for the client. An error that the client did not cause is logged with a generated id, and
// the reply contains only that id.
func (s *server) errorReplyFor(r *http.Request, err error) *reply {
	var (
		wire    *scim.Error
		syntax  *scim.SyntaxError
		auth    *authError
		method  *methodError
		unique  *UniqueError
		unknown *UnknownMemberError
		tooBig  *http.MaxBytesError
	)
	switch {
	case errors.As(err, &wire):
		return errorReply(wire)
	case errors.As(err, &auth):
		return auth.reply()
	case errors.As(err, &method):
		rep := errorReply(scim.Errorf(http.StatusMethodNotAllowed, "", "%v", method))
		rep.header = http.Header{"Allow": {strings.Join(method.allow, ", ")}}
		return rep
	case errors.As(err, &syntax):
		return errorReply(scim.Errorf(http.StatusBadRequest, scim.InvalidSyntax, "the body is not a JSON object: %v", syntax))
	case errors.As(err, &tooBig):
		return errorReply(scim.Errorf(http.StatusRequestEntityTooLarge, "", "the body is larger than %d bytes", tooBig.Limit))
	case errors.As(err, &unique):
		return errorReply(scim.Errorf(http.StatusConflict, scim.Uniqueness, "another resource has the same %s", unique.Attribute))
	case errors.As(err, &unknown):
		return errorReply(scim.Errorf(http.StatusBadRequest, scim.InvalidValue,
			"members: resource not found: %s", strings.Join(quoteSome(unknown.IDs), ", ")))
	case errors.Is(err, ErrNotFound):
		return errorReply(scim.Errorf(http.StatusNotFound, "", "resource not found"))
	case errors.Is(err, ErrConflict):
		return errorReply(scim.Errorf(http.StatusConflict, "", "other requests changed the resource in every attempt; try again"))
	case errors.Is(err, errMemory):
		return busyReply(http.StatusTooManyRequests, err)
	case errors.Is(err, errSharedMemory):
		return busyReply(http.StatusServiceUnavailable, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return errorReply(scim.Errorf(http.StatusServiceUnavailable, "", "the request was canceled before it was complete"))
	case outage.Is(err):
		s.log.LogAttrs(r.Context(), slog.LevelError, "scim requests failed: the database does not respond", errorAttr(err))
		rep := busyReply(http.StatusServiceUnavailable, errors.New("the database does not respond"))
		rep.header.Set("Retry-After", outage.RetryAfter)
		return rep
	}
	return s.internalError(r, errorAttr(err))
}

// panicReply returns the reply for a handler that panicked.
func (s *server) panicReply(r *http.Request, value any) *reply {
	return s.internalError(r, slog.Any("panic", value), slog.String("stack", string(debug.Stack())))
}

func (s *server) internalError(r *http.Request, attrs ...slog.Attr) *reply {
	id := rand.Text()
	attrs = append(attrs, slog.String("error_id", id), slog.String("method", r.Method), slog.String("path", r.URL.Path))
	s.log.LogAttrs(r.Context(), slog.LevelError, "scim request failed", attrs...)
	return errorReply(scim.Errorf(http.StatusInternalServerError, "", "internal error %s", id))
}

func errorReply(e *scim.Error) *reply {
	return &reply{status: e.Status, body: e}
}

// busyReply returns the reply to a request that may succeed later.
func busyReply(status int, err error) *reply {
	rep := errorReply(scim.Errorf(status, "", "%v", err))
	rep.header = http.Header{"Retry-After": {retryAfter}}
	return rep
}

// quoteSome quotes the first few strings, so that a long list in the request does not result in a long response.
func quoteSome(texts []string) []string {
	const most, longest = 5, 80
	var out []string
	for i, t := range texts {
		if i == most {
			return append(out, fmt.Sprintf("and %d more", len(texts)-most))
		}
		if len(t) > longest {
			t = strings.ToValidUTF8(t[:longest], "") + "..."
		}
		out = append(out, fmt.Sprintf("%q", t))
	}
	return out
}

func errorAttr(err error) slog.Attr { return slog.Any("error", err) }
