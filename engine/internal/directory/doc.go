// Package directory reads an [engine.Directory]: lists page by page with a check of their order, the part of a desired state that the store
// records ([Intent]), and a digest that detects changes of the desired state.
//
// It stores nothing. An error of a directory means that the desired state is currently unknown; the caller decides how to continue.
package directory
