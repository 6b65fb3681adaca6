// Package control serves an engine over HTTP: what the apps, users and groups of an engine are at, what was sent for them, and the
// operations with which operators intervene.
//
// A program that embeds an engine mounts the handler of [New] on its own mux, behind its own authorization. Package client calls it, and so
// does «scimwright engine». A program without operators needs neither.
//
// The responses are the types of package engine and of package client. Secrets are not in them: the engine removes those from exchanges
// before it stores or shows them, and the API shows no credentials of targets. Attributes of users are in them: the handler is for
// operators who may see these.
//
// # Adding an operation
//
// Each row of the table calls a method of provision.Engine or of one of its handles and responds with a type of package engine, or with
// one of package client that embeds it. There is no conversion. Members of these types are described in the words next to the rows; a
// test reports a member without. What the API needs of its host is a port in [Options]. An operation touches a row here, a method of the
// client, and a command in cmd/internal/cli/engine; and a handle of provision.Engine if the method is new. The sandbox mounts the handler
// at /sandbox/v1 behind the authorization of the management API, and joins the two OpenAPI documents.
//
// Paths of rows are below the prefix: what /sandbox/v1/engine/apps/{app} shows is the row "GET /engine/apps/{app}" of lanes.go. A new
// member of a response is a field of its type, a description in the words of the same file, and the code that sets the field.
package control
