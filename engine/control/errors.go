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

// rejections are the errors of the engine that are for the caller, with their codes.
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

// Rejected returns an error of the engine as the API responds with it: not found, of that kind and id, or another one that is about the
// request. A host whose ports call the engine returns such errors. Others are failures.
func Rejected(err error, kind, id string) error {
	if e, ok := errors.AsType[*rest.Error](err); ok { // of the host
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

// notRead is Rejected for operations that read a whole target: an error that is none of the rejections is about what the target has sent,
// and its text is for the caller.
func notRead(err error, app string) error {
	rejection := Rejected(err, "AppInstance", app)
	if rejection == nil {
		return nil
	}
	if e, ok := errors.AsType[*rest.Error](rejection); ok {
		return e
	}
	return &rest.Error{Code: rest.CodeConnection, Summary: errtext.Plain(err), Err: err}
}

// waited is Rejected for an operation that has waited for an app, or for one principal of it: when time is up, the causes name who waits,
// why and until when.
func (a *api) waited(ctx context.Context, err error, what, app string, only *engine.Principal) error {
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		id := app
		if only != nil {
			id = cmp.Or(only.ID, app)
		}
		return Rejected(err, what, id)
	}
	causes, told := waitingFor(ctx, a.o.Names, a.o.Engine, app, only)
	if told != nil {
		return told
	}
	return &rest.Error{Code: rest.CodeNotDrained, Causes: causes, Err: err}
}
