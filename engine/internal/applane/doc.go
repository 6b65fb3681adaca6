// Package applane processes one app for as long as its lease lasts: [Worker.Work] is the function of the engine's dispatcher.
//
// due.go decides which principals come next and in which order: users before groups, and within each kind deactivations and deletions
// first. do.go passes one of them to package sequence. rest.go decides when nothing is sent for the app. accepted.go limits the changes
// that the target has accepted and not yet carried out. leavers.go finds deactivations that are queued behind changes that must not be sent
// now. The gate of package lane decides when a failing lane stops and is retried.
package applane
