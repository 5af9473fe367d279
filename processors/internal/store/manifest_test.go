package store

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
)

// manifest returns a manifest with entries of the given lengths.
func manifest(t *testing.T, lengths ...int) []byte {
	t.Helper()
	var out bytes.Buffer
	rng := rand.NewChaCha8([32]byte{1})
	w := record.NewWriter(&out)
	for _, n := range lengths {
		one := make([]byte, n)
		_, _ = rng.Read(one)
		if _, err := w.WriteRecord(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestValidManifest: a manifest that is cut off anywhere is valid, and one with any flipped bit is
// not.
func TestValidManifest(t *testing.T) {
	for name, data := range map[string][]byte{
		"short": manifest(t, 40, 0, 1, 300, 7),
		"long":  manifest(t, 30_000, 2_700, 45_000, 100),
		// The header of the second entry just fits into the first block, or just does not.
		"at the end of a block": manifest(t, manifestBlock-2*manifestHeader+1, 60),
		"to the end of a block": manifest(t, manifestBlock-2*manifestHeader, 60),
	} {
		step := max(1, len(data)/5_000)
		for n := 0; n <= len(data); n += step {
			if !validManifest(data[:n]) {
				t.Fatalf("%s: invalid after %d of %d bytes", name, n, len(data))
			}
		}
		for at := 0; at < len(data); at += step {
			if at%manifestBlock >= manifestBlock-manifestHeader+1 {
				continue // padding
			}
			for bit := range 8 {
				data[at] ^= 1 << bit
				if validManifest(data) {
					t.Fatalf("%s: valid with a flip of bit %d of byte %d of %d", name, bit, at, len(data))
				}
				data[at] ^= 1 << bit
			}
		}
	}
}
