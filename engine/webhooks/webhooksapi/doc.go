// Package webhooksapi serves a webhooks.Service over HTTP, so that programs in any language manage the endpoints of webhooks.
//
// A program mounts the handler of [New] on its own mux, behind its own authorization. The handlers of engine/desired/desiredapi and
// engine/control have the same default prefix: set Options.Next to one of them.
//
// The responses of two operations contain a secret: that which creates an endpoint, and that which rotates its secret.
package webhooksapi

// Each operation is a row of a table: endpoints.go and letters.go have functions that return rows. The types of requests and responses are
// in the file of their row; their struct tags are the source of the validation and of the OpenAPI document.
