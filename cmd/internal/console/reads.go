package console

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
)

// ReadsOf returns the Reads of an engine.
func ReadsOf(e *provision.Engine) Reads { return engineReads{e} }

type engineReads struct{ engine *provision.Engine }

func (r engineReads) Lags(ctx context.Context) ([]engine.Lag, error) {
	return r.engine.Apps().Lags(ctx)
}

func (r engineReads) Attempts(ctx context.Context, q engine.AttemptQuery) ([]engine.Attempt, error) {
	return r.engine.Traces().Attempts(ctx, q)
}

func (r engineReads) Imports(ctx context.Context, app string) ([]engine.ImportRun, error) {
	return r.engine.Imports().Runs(ctx, app)
}
