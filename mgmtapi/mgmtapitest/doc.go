// Package mgmtapitest stores documents and events in the database of a management API, for tests of a host such as the sandbox. It creates
// states that a host reaches only after many requests, or only after a crash. Tests below mgmtapi use package apitest.
package mgmtapitest
