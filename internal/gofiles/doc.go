// Package gofiles finds the Go files of the module, for the tests that check all of them.
package gofiles
