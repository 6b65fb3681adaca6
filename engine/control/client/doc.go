// Package client calls the control API of an engine, which package control serves.
//
// Responses are the types of package engine. Where the API shows more than one of them, a type of this package embeds it: a [Trace] is an
// [engine.Trace] with whether the principal is assigned. The package depends on neither the engine's machine nor a store.
//
// A command line, a console or a test that operates an engine in another process uses a [Client]. A program that runs the engine itself
// calls the methods of provision.Engine and its handles.
package client
