//go:build race

package cmd

const hasRaceDetector = true
