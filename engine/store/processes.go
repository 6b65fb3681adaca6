package store

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// ErrInUse reports that another process owns the database.
var ErrInUse = errors.New("engine: another engine uses this database: stop it first, or use PostgreSQL for several engines")

// ErrEnded reports that an incarnation has ended: it did not send a heartbeat in time, or it has left.
var ErrEnded = errors.New("engine: this incarnation of the process has ended")

// Processes records which engines share the store. A lane belongs to the process that claimed it, until the process releases the lane or
// ends. All times of processes are by the clock of the database.
//
// If several processes can share the database, a process is dead when Joining.Lease has passed since its last heartbeat. Otherwise the
// database belongs to one process until that process leaves or exits. Its engine.Process.Until is zero, and it sends no heartbeat.
type Processes interface {
	// Join adds a process. It returns ErrInUse if the database belongs to another process. If the database belongs to one process, Join takes
	// over all lanes. With Joining.Replace it takes over the lanes of earlier processes of the same name.
	Join(ctx context.Context, j Joining) (engine.Process, []Takeover, error)
	// Beat prolongs the validity of a process and stores its load, or returns ErrEnded.
	Beat(ctx context.Context, id string, load Load) (Fleet, error)
	// Retire records that a process claims no more lanes and is about to release those that it has. It stays valid. The others can then claim
	// these lanes immediately, see Claimable. An unknown process is ignored.
	Retire(ctx context.Context, id string) error
	// Reap takes over the lanes of dead processes: it raises their epochs, makes them due at When.Now, and sets the time of the recheck of
	// their principals in flight. A locked lane is left for a later call. Reap removes a process 60s after its death, unless it still has
	// lanes. id is the process that calls Reap.
	Reap(ctx context.Context, id string, w When) ([]Takeover, error)
	// Leave ends a process, and takes over its remaining lanes as Reap does. An unknown process is ignored.
	Leave(ctx context.Context, id string, w When) error
	// Processes lists the processes, those that are dead included, by start.
	Processes(ctx context.Context) ([]engine.Process, error)
}

// Joining describes a process that joins.
type Joining struct {
	Name string
	// Lease is the time without a heartbeat after which the process is dead.
	Lease time.Duration
	// Replace ends the earlier processes with this name: the name belongs to one engine at a time, which was restarted.
	Replace bool
	When
}

// When has the times of lanes that are taken over, by the clock of the engine.
type When struct {
	Now     time.Time // the lanes are due at this time
	Recheck time.Time // the principals in flight are requeued at this time
}

// Load is the work of a process.
type Load struct {
	// Lanes is the mean number of running lanes since the previous heartbeat. The number at one time would vary too much if lanes run for a
	// short time only.
	Lanes    float64
	InFlight int // principals that are being processed
}

// Fleet describes all processes at the time of a heartbeat.
type Fleet struct {
	Alive  int           // valid processes, this one included
	Others float64       // Load.Lanes of all other valid processes, by their last heartbeats
	Least  float64       // Load.Lanes of the other valid process with the fewest, 0 if there is none
	Next   time.Duration // until the earliest end of another process, unless it sends a heartbeat; negative: no other process is valid
	Dead   int           // processes that have ended and are not removed yet
}

// Takeover describes what was taken over from a dead process.
type Takeover struct {
	Process string // id
	Name    string
	Apps    []string // the lanes
	Epochs  []int64  // of the lanes since the takeover, in the order of Apps
	Noted   int      // principals that were in flight
}
