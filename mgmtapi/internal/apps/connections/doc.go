// Package connections serves the operations that configure how an application provisions: its connection to a SCIM service provider, the
// provisioning features, and group push.
//
// It sends no SCIM requests: a ConnectionTester, which the embedder supplies, verifies connections.
package connections
