// Package applane works on one app for as long as its lease lasts: [Worker.Work] is the function of the engine's dispatcher.
//
// due.go decides which principals come next and in which order, do.go hands one of them to package sequence, rest.go decides when the app is
// not worked on, accepted.go bounds the changes that a target has accepted and not carried out, and leavers.go finds deactivations behind
// other changes that must wait. When a lane stops and is tried again is decided by the gate of package lane.
package applane
