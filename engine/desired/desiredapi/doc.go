// Package desiredapi serves a desired.Store over HTTP, so that identity providers in any language write the desired state of their apps.
//
// A program mounts the handler of [New] on its own mux, behind its own authorization. The handler of engine/control, with which operators
// inspect the engine, has the same default prefix: set Options.Next to it.
//
// Every write has a version of the caller; see package desired. A write with an older version, or with other content for the stored
// version, returns 409; the header X-Svc-Version contains the stored version. Responses contain no credentials and no passwords.
package desiredapi

// Each operation is a row of a table: apps.go, principals.go, members.go, batch.go and snapshots.go have functions that return rows. The
// types of requests and responses are in the file of their row; their struct tags are the source of the validation and of the OpenAPI
// document.
