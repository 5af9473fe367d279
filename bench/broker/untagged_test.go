//go:build !synctests

package broker

import "testing"

// TestBuildTag fails: without the build tag, go test would leave out most tests of this package and
// report success. The tag makes the mutexes of the Kafka client visible to testing/synctest.
// internal/lint holds the text of this file.
func TestBuildTag(t *testing.T) {
	t.Fatal("tests of this package need a build tag: run make test, or go test -tags synctests ./...")
}
