package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Verify reads a principal at the target and compares it with what the directory says now. Nothing is written, neither at the
// target nor in the store. A group is compared by its name and all its members; one whose members the target never shows cannot
// be, and Ignored names them. What the options of the app exclude, such as updates, is not compared. The error is about the app
// (ErrUnknownApp), the store or ctx; what the target or the directory cannot tell is in Verification.Message.
func (e *Engine) Verify(ctx context.Context, app string, kind engine.Kind, id string) (engine.Verification, error) {
	x, err := e.dryRuns.Open(ctx, app, nil)
	if err != nil {
		return engine.Verification{}, err
	}
	return x.Verify(ctx, kind, id)
}
