package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Explain joins what the directory says about a principal with what the engine knows. The target is not asked.
func (e *Engine) Explain(ctx context.Context, app string, kind engine.Kind, id string) (engine.PrincipalExplanation, error) {
	return e.explanations.Explain(ctx, app, kind, id)
}
