// Package assembly builds the management API from its slices; slices.go lists them, one line each. It knows all packages below mgmtapi, so
// that package mgmtapi, the face for embedders, shows none of their types, and tests of slices get at what stands behind the API.
package assembly
