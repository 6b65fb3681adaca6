package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// DryRun tells what the engine would do now about one principal, with the exact requests, without doing it: reads go to the
// target, writes are pretended, nothing is stored and no lane is taken. A principal that was never marked is rehearsed as if it
// were marked now. What the directory or the target cannot tell is in Trace.Message, as it would be in State.LastError; the error
// is about the app (ErrUnknownApp) or the store.
//
// The target may answer otherwise than is pretended: it may refuse, alter what it is sent, or answer without the resource, which
// is then read back.
func (e *Engine) DryRun(ctx context.Context, app string, kind engine.Kind, id string) (engine.Trace, error) {
	x, err := e.dryRuns.Open(ctx, app, nil)
	if err != nil {
		return engine.Trace{}, err
	}
	return x.Trace(ctx, kind, id)
}

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
