// Package client calls the control API of an engine, which package control serves.
//
// Responses have the types of package engine. If the API adds members, a type of this package embeds the engine's: a [Trace] is an
// [engine.Trace] that also reports whether the principal is assigned. The package depends on neither the running engine nor a store.
//
// Use a [Client] in a command line, a console or a test that operates an engine in another process. A program that runs the engine itself
// calls the methods of provision.Engine and its handles.
package client
