// Package audit writes the system log. It defines the event types, and slices use it to log a change in the transaction of that change.
//
// The caller supplies the type and the targets of an event. The actor, its origin and the request or job come from the context, so that
// events are consistent with what happened. The package does not serve the log; syslog does.
//
// In comments of this package, the specification is that of the management API: the management documents (docs/reference/deviations.md),
// and the additions that complete them. fixtures.EventTypes returns the event types that the specification defines.
package audit
