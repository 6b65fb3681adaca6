//go:build race

package provision_test

// raceDetector reports whether the tests run with the race detector.
const raceDetector = true
