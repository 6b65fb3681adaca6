// Package control serves an engine over HTTP: the state of its apps, users and groups, the exchanges with their targets, and the operations
// of operators.
//
// A program that embeds an engine mounts the handler of [New] on its own mux, behind its own authorization. Package client and "scimwright
// engine" call the API. A program without operators needs neither package control nor package client.
//
// The responses have the types of package engine and of package client. They contain no secrets: the engine removes secrets from exchanges
// before it stores or shows the exchanges, and the API shows no credentials of targets. The responses contain attributes of users:
// authorize only operators who may see such attributes.
package control

// Each operation is a row of a table: the functions laneRoutes, taskRoutes and so on return the rows. A row calls a method of
// provision.Engine or of one of its handles. The response has a type of package engine, or a type of package client that embeds such a
// type. The variables laneWords, taskWords and so on describe the members of the response types for the OpenAPI document. A test fails if a
// new member has no description.
//
// If an operation needs a function of the embedder, the function is a field of [Options]. A new operation needs a row here, a method of the
// client, and a command in cmd/internal/cli/engine. If the engine lacks a method for the operation, add one to a handle of
// provision.Engine, such as provision.Tasks. The sandbox mounts the handler at /sandbox/v1 behind the authorization of the management API,
// and joins the two OpenAPI documents.
//
// The paths of rows are relative to the prefix: the row "GET /engine/apps/{app}" of lanes.go has the path /sandbox/v1/engine/apps/{app} in
// the sandbox. A new member of a response needs a field of its type, a description in the same file as the row, and the code that sets the
// field.
