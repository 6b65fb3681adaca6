package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/internal/rest"
)

// rejections are the errors of the engine that a request causes, with their codes.
var rejections = []struct {
	err  error
	code rest.Code
}{
	{engine.ErrStale, rest.CodeMoved},
	{engine.ErrExpired, rest.CodeMoved},
	{engine.ErrApplied, rest.CodeMoved},
	{engine.ErrCanary, rest.CodeMoved},
	{engine.ErrImportRunning, rest.CodeMoved},
	{engine.ErrPaused, rest.CodeMoved},
	{engine.ErrTooMany, rest.CodeTooMany},
	{engine.ErrNoMatcher, rest.CodeAppOperation},
}

// Rejected converts an error of the engine to an error response: not found with the kind and id, or another error that the request causes.
// An embedder whose functions in Options call the engine returns the results of Rejected. Rejected returns any other error unchanged.
func Rejected(err error, kind, id string) error {
	if e, ok := errors.AsType[*rest.Error](err); ok { // the embedder has created this error response
		return e
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.ErrNotFound):
		return rest.NotFound(kind, id)
	case errors.Is(err, engine.ErrUnknownApp):
		return rest.Failf(rest.CodeAppOperation, "The application has no provisioning connection.")
	case errors.Is(err, context.DeadlineExceeded):
		return &rest.Error{Code: rest.CodeNotDrained, Err: err}
	}
	if e, ok := errors.AsType[*engine.LinkError](err); ok {
		return linksRejected(e)
	}
	for _, r := range rejections {
		if errors.Is(err, r.err) {
			return &rest.Error{Code: r.code, Summary: errtext.Plain(err), Err: err}
		}
	}
	return err
}

func linksRejected(e *engine.LinkError) error {
	var causes []string
	for _, c := range e.Conflicts {
		causes = append(causes, fmt.Sprintf("links: %s %s: %s", c.Link.Kind, c.Link.ID, c.Reason))
	}
	return &rest.Error{Code: rest.CodeValidation, Summary: "Api validation failed: links", Causes: causes, Err: e}
}

// targetError does the same as Rejected, for operations that read a whole target. Any error that is not in rejections becomes an error
// response with the text of the error, which describes the response of the target.
func targetError(err error, app string) error {
	rejection := Rejected(err, "AppInstance", app)
	if rejection == nil {
		return nil
	}
	if e, ok := errors.AsType[*rest.Error](rejection); ok {
		return e
	}
	return &rest.Error{Code: rest.CodeConnection, Summary: errtext.Plain(err), Err: err}
}

// timeoutError does the same as Rejected, for an operation that waits for an app or for one of its principals. If the wait has timed out,
// the error response lists the pending principals, the reasons and the times of the next attempts.
func (a *api) timeoutError(ctx context.Context, err error, what, app string, only *engine.Principal) error {
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		id := app
		if only != nil {
			id = cmp.Or(only.ID, app)
		}
		return Rejected(err, what, id)
	}
	causes, failed := waitingFor(ctx, a.o.Names, a.o.Engine, app, only)
	if failed != nil {
		return failed
	}
	return &rest.Error{Code: rest.CodeNotDrained, Causes: causes, Err: err}
}
