// Package sandboxport has the interfaces by which the management API calls the sandbox. The management API serves the part of /sandbox/v1
// that controls what only a sandbox has: its provisioning engine, its SCIM servers and its clock. cmd/internal/sandbox implements the
// interfaces of this package and passes them to mgmtapi.Open with [WithSandbox].
//
// The types are not those of mgmtapi, because no embedder implements them, and not those of the slice that serves the operations, because
// the sandbox does not import the packages below mgmtapi. The slice defines the JSON forms.
package sandboxport
