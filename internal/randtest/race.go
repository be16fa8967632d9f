//go:build race

package randtest

// RaceDetector says that the test runs under the race detector.
const RaceDetector = true
