// Package mgmtapitest stores documents and events in the database of a management API for tests of a host, such as the sandbox: states that
// take a host many requests to reach, or that only a crash leaves. Tests below mgmtapi use package apitest.
//
// Its functions take a database of internal/sqldb, so other modules cannot call them.
package mgmtapitest
