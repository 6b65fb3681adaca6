// Package heartbeat determines how long a process may work: as long as its heartbeats reach the database. A [Life] is one incarnation of a
// process. It ends when no heartbeat was successful for nine tenths of the lease, before other processes declare the process dead. It never
// becomes valid again. Engines (package membership) and schedulers of jobs (package riverjobs) are such processes.
package heartbeat
