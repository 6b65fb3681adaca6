//go:build race

package truth_test

// raceDetector reports whether the race detector is enabled.
const raceDetector = true
