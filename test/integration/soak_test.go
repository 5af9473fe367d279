package integration

import "os"

// soak returns the load of a test: the usual one of make test, or the whole one of make soak, which
// sets WEIR_TEST_SOAK.
func soak[T any](usual, whole T) T {
	if os.Getenv("WEIR_TEST_SOAK") != "" {
		return whole
	}
	return usual
}
