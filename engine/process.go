package engine

import "time"

// Process is one incarnation of an engine among the engines that share a store. An incarnation that has ended never becomes valid again: an
// engine that continues joins as a new one.
type Process struct {
	ID      string
	Name    string    // Options.Owner of the engine
	Started time.Time // by the clock of the database, as Seen and Until
	Seen    time.Time // the last heartbeat
	// Until is the time at which the process is dead, unless a heartbeat arrives before. It is zero on a database that one process owns.
	Until time.Time
	Now   time.Time // when the process was listed
	State ProcessState

	Lanes    int     // leased lanes
	Running  float64 // mean number of running lanes in the time between the last two heartbeats
	InFlight int     // principals that were being processed at the last heartbeat
	// Takeovers is the number of lanes that this process has taken from dead processes. Rechecks is the number of principals that it has
	// requeued, because they were in flight when their process died.
	Takeovers, Rechecks int64
}

// ProcessState is the state of a process.
type ProcessState string

// The states. A process that is no longer alive is listed for about a minute, and as long as it still has lanes.
const (
	ProcessAlive ProcessState = "alive"
	ProcessDead  ProcessState = "dead"  // it has sent no heartbeat in time, and other processes have not taken over all its lanes yet
	ProcessTaken ProcessState = "taken" // it is dead, and other processes have taken over all its lanes
	ProcessLeft  ProcessState = "left"  // it was stopped, or an engine with the same name has replaced it
)

// Takeover describes the lanes that a process has taken over from a dead one.
type Takeover struct {
	Process string // id of the dead process
	Name    string // Options.Owner of the dead process
	Apps    []string
	Epochs  []int64 // of the lanes since the takeover, in the order of Apps
	// InFlight is the number of principals that the dead process had in flight. They are requeued at Recheck.
	InFlight int
	Recheck  time.Time
}
