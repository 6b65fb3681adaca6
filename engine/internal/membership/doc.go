// Package membership keeps an engine a member of the fleet of engines that share a store: it joins, sends heartbeats, takes over the lanes
// of dead processes, and leaves. A member whose validity has ended joins again as a new incarnation.
//
// Package heartbeat decides by the local clocks whether an incarnation is valid. share.go decides which part of the lanes it runs.
package membership
