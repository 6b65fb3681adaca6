// Package applane works on one app for as long as its lease lasts: [Worker.Work] is the function of the engine's dispatcher.
//
// due.go decides which principals come next and in which order, and do.go hands one of them to package sequence. rest.go decides when
// nothing is sent for the app, accepted.go bounds the changes that the target has accepted and not carried out, and leavers.go finds
// deactivations behind other changes that must wait. The gate of package lane decides when a failing lane stops and is tried again.
package applane
