package store

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
)

// TestSlowClose: a close that waits logs what it waits for, every five seconds.
func TestSlowClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &bytes.Buffer{}
		log := zerolog.New(zerolog.SyncWriter(out))
		o := testOptions(vfs.NewMem())
		o.Log = &log
		s, err := Open(o, "slow")
		if err != nil {
			t.Fatal(err)
		}
		done := s.Retain()
		time.AfterFunc(12*time.Second, done)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := strings.Count(out.String(), `"waits_for":"queries to release their snapshots"`); n != 2 || strings.Count(out.String(), "store_close_slow") != 2 {
			t.Errorf("in 12 s the log has %d lines:\n%s", n, out)
		}
	})
}
