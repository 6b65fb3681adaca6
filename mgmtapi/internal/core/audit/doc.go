// Package audit writes the system log: which event types there are, and the one way in which slices tell of a change, in the
// transaction of that change.
//
// Whoever writes names the type and what was acted on. Who acted, from where, and to which request or job it belongs comes from
// the context, so that no event can say something else than what happened. The package does not serve the log; syslog does.
package audit
