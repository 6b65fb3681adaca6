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

	Lanes    int     // leased lanes
	Running  float64 // mean number of running lanes in the time between the last two heartbeats
	InFlight int     // principals that were being processed at the last heartbeat
	// Takeovers is the number of lanes that this process has taken from dead processes. Rechecks is the number of principals that it has
	// requeued, because they were in flight when their process died.
	Takeovers, Rechecks int64
}
