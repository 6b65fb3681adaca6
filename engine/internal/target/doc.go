// Package target is the engine's access to the target of one app: the [Connection] for a configuration, its maintenance windows, the slots
// and the rate limit of its requests, and the [Knowledge] about the target that is stored with the lane.
//
// It sends the requests of other packages and decides on none itself. A [Connector] belongs to one engine and connects to the targets of
// all apps.
package target
