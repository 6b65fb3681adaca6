//go:build race

package engine_test

// raceDetector says that these tests are run with the race detector.
const raceDetector = true
