// Package sandboxport is the port between the management API and the sandbox. The management API serves a part of /sandbox/v1 that shows
// and moves what only a sandbox has: its provisioning engine, its SCIM servers and its clock. cmd/internal/sandbox implements the
// interfaces of this package and passes them to mgmtapi.Open with [WithSandbox].
//
// The types are not those of mgmtapi, because no embedder implements them, and not those of the slice that serves the operations, because
// the sandbox does not import the packages below mgmtapi. JSON forms belong to that slice.
package sandboxport
