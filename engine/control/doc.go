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
// The rows are in the files of their subjects, with paths below the prefix: the app that /sandbox/v1/engine/apps/{app} shows is
// "GET /engine/apps/{app}" in lanes.go. A new member of a response is a field of the type (package engine, or client/types.go), its description
// in the words of the same file, and what sets it. A new operation is a row, a method of the client and a command in
// internal/cli/engine.
package control
