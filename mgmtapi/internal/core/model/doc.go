// Package model defines what the management API stores: the types, their collections with the indexes, the ids, and the events that are
// written with every change. All slices import it and it imports none of them. Rules that two slices share (group membership, the effects
// of a deleted user) are therefore in this package or in an event handler.
//
// The package does not depend on HTTP: the slices define the JSON forms.
package model
