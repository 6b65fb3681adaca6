//go:build !race

package scimserver_test

// raceDetector reports whether the tests run with the race detector, which multiplies the memory of a process.
const raceDetector = false
