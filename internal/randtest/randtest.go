// Package randtest steers the random tests from the environment: how many rounds
// they take and from which seed.
//
// It is imported by tests only.
package randtest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Rounds multiplies a test's usual number of rounds by SPANBULK_TEST_ROUNDS.
func Rounds(usual int) int { return usual * Factor() }

// Factor is SPANBULK_TEST_ROUNDS; 1 where it is not set or no positive number.
// scripts/test.sh --long sets 10.
func Factor() int {
	factor, err := strconv.Atoi(os.Getenv("SPANBULK_TEST_ROUNDS"))
	if err != nil {
		return 1
	}
	return max(1, factor)
}

// Size is n, a size that is itself the point of a test. Under the race detector,
// which makes large values ten times as dear, it is a tenth of n, but in the long
// run.
func Size(n int) int {
	if RaceDetector && !Long() {
		return n / 10
	}
	return n
}

// Long says that this is the long run: SPANBULK_TEST_ROUNDS is 10 or more.
func Long() bool { return Factor() >= 10 }

// Seed returns SPANBULK_TEST_SEED, else a new seed. If the test fails it says how
// to repeat it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("SPANBULK_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with SPANBULK_TEST_SEED=%d", seed)
		}
	})
	return seed
}

// New returns a source of random numbers that starts at Seed.
func New(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}
