package store

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Imports is the capability to store imports. provision.Imports needs it. Writes that take a lease of ImportLeases are rejected with
// engine.ErrLeaseLost if the lease was lost.
type Imports interface {
	// ImportLeases returns the leases of the runs that have work left. Lease.App is the decimal id of the run. Release of these leases does
	// not store the hold: the run is due again at notBefore.
	ImportLeases() Leases
	// StartImport adds a run in the state running and returns its id. It returns ErrImportRunning if the app has a running import of that
	// kind.
	StartImport(ctx context.Context, app string, r engine.ImportRequest, now time.Time) (int64, error)
	// ImportRun returns a run, or ErrNotFound. ImportRuns returns the runs of an app, newest first. The store removes old runs of each kind.
	ImportRun(ctx context.Context, id int64) (engine.ImportRun, error)
	ImportRuns(ctx context.Context, app string) ([]engine.ImportRun, error)
	// SaveImportPage adds the objects of a page. If the run already has one of these objects, SaveImportPage stores nothing and returns
	// ErrDuplicateObject.
	SaveImportPage(ctx context.Context, l engine.Lease, p ImportPage) error
	// CloseImport evaluates a list that was read completely. Known objects that are not in the list get VerdictGone. If several objects match
	// the same principal, all of them get VerdictAmbiguous. If more objects are missing than the request allows, CloseImport stores no verdict
	// and stops the run. A repeated call has the same result.
	CloseImport(ctx context.Context, l engine.Lease, now time.Time) error
	// ConfirmMatched links up to limit matched objects and returns the number of processed objects, 0 when no matched object is left. An
	// object that cannot be linked gets VerdictAmbiguous.
	ConfirmMatched(ctx context.Context, l engine.Lease, now time.Time, limit int) (int, error)
	// DelayImport records a failure after which the run continues later. EndImport records that a run is done or has failed; CloseImport
	// records that a run was stopped.
	DelayImport(ctx context.Context, l engine.Lease, attempts int, message string) error
	EndImport(ctx context.Context, l engine.Lease, state engine.ImportState, message string, now time.Time) error
	// RemoteObjects returns objects that imports have found.
	RemoteObjects(ctx context.Context, q engine.RemoteObjectQuery) ([]engine.RemoteObject, error)
	// Confirm creates links within the caller's transaction as Links.Link does. It returns ErrStale unless the run is the newest of its app
	// and kind, has succeeded and has seen the accounts.
	Confirm(ctx context.Context, tx engine.Execer, now time.Time, app string, run int64, links []engine.Link) error
}

// ErrDuplicateObject reports that a target has listed an object twice.
var ErrDuplicateObject = errors.New("engine: the object is already in this import")

// ImportPage is a page of a list with the verdicts on its objects.
type ImportPage struct {
	Objects []engine.RemoteObject
	Seen    int // including this page
	Total   int
	Last    bool
}
