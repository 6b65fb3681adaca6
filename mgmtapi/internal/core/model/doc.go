// Package model holds what the management API stores: the types, their collections with the indexes, the ids, and the
// events that are written with every change. All slices import it and it imports none of them, so what two slices share
// (who is in which group, what has to happen when a user goes) lives here or in a reaction to an event.
//
// The package knows nothing of HTTP: the wire forms are the business of the slices.
package model
