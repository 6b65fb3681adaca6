//go:build !race

package provision_test

// raceDetector says that these tests are run with the race detector.
const raceDetector = false
