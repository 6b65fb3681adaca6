// Package connections is the part of the management API that configures how an
// application provisions: its connection to a SCIM service provider, the
// features that work over it, and the groups that are pushed.
//
// It sends nothing by itself: a connection is verified by a ConnectionTester
// that the owner of the process supplies.
package connections
