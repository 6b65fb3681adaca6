// Package target is the engine's side of the target of one app: the [Connection] that a configuration results in, its maintenance
// windows, the turns and the rate limit of its requests, and the [Knowledge] about it that is stored with the lane.
//
// It sends requests of others and decides none. A [Connector] belongs to one engine and connects to the targets of all apps.
package target
