package store

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Imports is the capability to keep imports, for Imports. Writes that take a lease of ImportLeases are rejected with engine.ErrLeaseLost
// if it does not hold.
type Imports interface {
	// ImportLeases are claims on runs that are to be worked on; Lease.App is the id of the run in decimal. Holds are not kept: a
	// run is due again not before notBefore.
	ImportLeases() Leases
	// StartImport adds a run in the state running and returns its id. ErrImportRunning when there is one of that app and kind.
	StartImport(ctx context.Context, app string, r engine.ImportRequest, now time.Time) (int64, error)
	// ImportRun returns a run, or ErrNotFound; ImportRuns those of an app, newest first. Some of the newest are kept of each kind.
	ImportRun(ctx context.Context, id int64) (engine.ImportRun, error)
	ImportRuns(ctx context.Context, app string) ([]engine.ImportRun, error)
	// SaveImportPage adds the objects of a page. ErrDuplicateObject, and nothing is stored, when the run has one of them already.
	SaveImportPage(ctx context.Context, l engine.Lease, p ImportPage) error
	// CloseImport draws the conclusions of a list that was read to its end: what else was there before is gone, and a principal that
	// several objects match is ambiguous. When more is gone than the request allows, nothing of that is stored and the run is
	// stopped instead. It may be repeated.
	CloseImport(ctx context.Context, l engine.Lease, now time.Time) error
	// ConfirmMatched links up to limit of the objects that are matched, and returns how many it has dealt with: what cannot be
	// linked is ambiguous from then on.
	ConfirmMatched(ctx context.Context, l engine.Lease, now time.Time, limit int) (int, error)
	// DelayImport notes a failure after which the run goes on, EndImport the end of a run that was not stopped.
	DelayImport(ctx context.Context, l engine.Lease, attempts int, message string) error
	EndImport(ctx context.Context, l engine.Lease, state engine.ImportState, message string, now time.Time) error
	// RemoteObjects reads what imports have found.
	RemoteObjects(ctx context.Context, q engine.RemoteObjectQuery) ([]engine.RemoteObject, error)
	// Confirm makes links within the caller's transaction as Links.Link does. It returns ErrStale unless the run is the newest of
	// its app and kind, has ended well and has seen the accounts.
	Confirm(ctx context.Context, tx engine.Execer, now time.Time, app string, run int64, links []engine.Link) error
}

// ErrDuplicateObject says that a target has listed an object twice.
var ErrDuplicateObject = errors.New("engine: it was listed before")

// ImportPage is a page of a list with the verdicts on it.
type ImportPage struct {
	Objects []engine.RemoteObject
	Seen    int // with this page
	Total   int
	Last    bool
}
