//go:build race

package sandbox_test

// raceDetector reports whether the race detector is enabled.
const raceDetector = true
