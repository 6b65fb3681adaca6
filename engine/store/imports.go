package store

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Imports is the capability to store imports. provision.Imports needs it. Writes that take an attempt are rejected with engine.ErrLeaseLost
// if a later attempt has begun.
type Imports interface {
	// StartImport adds a run in the state running and returns its id. It returns ErrImportRunning if the app has a running import of that
	// kind.
	StartImport(ctx context.Context, app string, r engine.ImportRequest, now time.Time) (int64, error)
	// RunningImports returns the ids of the runs in the state running.
	RunningImports(ctx context.Context) ([]int64, error)
	// BeginImport begins an attempt to work on a run, and returns the run. It returns ErrNotFound for a run that is not in the state running.
	BeginImport(ctx context.Context, id int64) (ImportAttempt, engine.ImportRun, error)
	// ImportRun returns a run, or ErrNotFound. ImportRuns returns the runs of an app, newest first. The store removes old runs of each kind.
	ImportRun(ctx context.Context, id int64) (engine.ImportRun, error)
	ImportRuns(ctx context.Context, app string) ([]engine.ImportRun, error)
	// SaveImportPage adds the objects of a page. If the run already has one of these objects, SaveImportPage stores nothing and returns
	// ErrDuplicateObject.
	SaveImportPage(ctx context.Context, a ImportAttempt, p ImportPage) error
	// CloseImport evaluates a list that was read completely. Known objects that are not in the list get VerdictGone. If several objects match
	// the same principal, all of them get VerdictAmbiguous. If more objects are missing than the request allows, CloseImport stores no verdict
	// and stops the run. A repeated call has the same result.
	CloseImport(ctx context.Context, a ImportAttempt, now time.Time) error
	// ConfirmMatched links up to limit matched objects and returns the number of processed objects, 0 when no matched object is left. An
	// object that cannot be linked gets VerdictAmbiguous.
	ConfirmMatched(ctx context.Context, a ImportAttempt, now time.Time, limit int) (int, error)
	// DelayImport records a failure after which the run continues later. EndImport records that a run is done or has failed; CloseImport
	// records that a run was stopped.
	DelayImport(ctx context.Context, a ImportAttempt, attempts int, message string) error
	EndImport(ctx context.Context, a ImportAttempt, state engine.ImportState, message string, now time.Time) error
	// RemoteObjects returns objects that imports have found.
	RemoteObjects(ctx context.Context, q engine.RemoteObjectQuery) ([]engine.RemoteObject, error)
	// Confirm creates links within the caller's transaction as Links.Link does. It returns ErrStale unless the run is the newest of its app
	// and kind, has succeeded and has seen the accounts.
	Confirm(ctx context.Context, tx engine.Execer, now time.Time, app string, run int64, links []engine.Link) error
}

// ImportAttempt is an attempt to work on a run.
type ImportAttempt struct{ Run, Epoch int64 }

// ErrDuplicateObject reports that a target has listed an object twice.
var ErrDuplicateObject = errors.New("engine: the object is already in this import")

// ImportPage is a page of a list with the verdicts on its objects.
type ImportPage struct {
	Objects []engine.RemoteObject
	Seen    int // including this page
	Total   int
	Last    bool
}
