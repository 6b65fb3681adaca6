package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// engineAPI gives the management API's sandbox surface the engine. Its methods are in the files engine*.go, one for each subject.
type engineAPI struct {
	db     *sqldb.DB
	engine *provision.Engine
	bridge *bridge
}

// refusals are the errors of the engine that are for the caller, with their codes.
var refusals = []struct {
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
}

// refused says with which code an error of the engine is answered: as not found, of that kind and id, or as what refusals say. Others
// are faults.
func refused(err error, kind, id string) error {
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
		return linkRefused(e)
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return &rest.Error{Code: r.code, Summary: errtext.Plain(err), Err: err}
		}
	}
	return err
}

func linkRefused(e *engine.LinkError) error {
	var causes []string
	for _, c := range e.Conflicts {
		causes = append(causes, fmt.Sprintf("links: %s %s: %s", c.Link.Kind, c.Link.ID, c.Reason))
	}
	return &rest.Error{Code: rest.CodeValidation, Summary: "Api validation failed: links", Causes: causes, Err: e}
}

// update runs fn in a transaction of the sandbox's database, and wakes the engine for the app after the commit. Like the relay, it
// does not ask for a serializable one: it writes no documents, and the engine's store orders its writes itself.
func (e *engineAPI) update(ctx context.Context, app string, fn func(tx engine.Execer) error) error {
	err := e.db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
	if err == nil {
		e.engine.Wake(app)
	}
	return err
}
