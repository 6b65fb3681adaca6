// Package directory reads an [engine.Directory] for the rooms of the engine: lists page by page with a check of their order, what the
// store is to know about a desired state ([engine.Intent]), and a digest that shows whether it has changed.
//
// It stores nothing. An error of a directory means that the desired state is unknown at the moment; the caller decides what follows.
package directory
