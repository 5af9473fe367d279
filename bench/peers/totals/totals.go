package totals

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/weirhq/weir/events"
)

// Totals describes the content of a log or the result of a peer, over all keys.
type Totals struct {
	Keys   int64 `json:"keys"`
	Micros int64 `json:"micros"`
	Events int64 `json:"events"`
	// Digest is the sum, modulo 2^64, of the mixed FNV-1a hashes of each key and its value. Two
	// counts with the same digest agree in every key, in any order. It has 16 hexadecimal digits.
	Digest Digest `json:"digest"`
}

// Digest is a number with a text form of 16 hexadecimal digits.
type Digest uint64

// Key appends the key of an event's sums: account, zero, campaign, zero, and the budget day as four
// bytes, big endian. An event without a budget day has the UTC day of its time.
func Key(dst []byte, e *events.View) []byte {
	dst = append(append(dst, e.Account...), 0)
	dst = append(append(dst, e.Campaign...), 0)
	return binary.BigEndian.AppendUint32(dst, uint32(events.BudgetDay(e.BudgetDay, e.EventMs)))
}

// Value appends the value of a key: micros and number of events, eight bytes each, big endian.
func Value(dst []byte, micros, count int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(micros)), uint64(count))
}

// Sums decodes a Value. A value of another length is an error.
func Sums(value []byte) (micros, count int64, err error) {
	if len(value) != 16 {
		return 0, 0, fmt.Errorf("a value has %d bytes, want 16: micros and count", len(value))
	}
	return int64(binary.BigEndian.Uint64(value)), int64(binary.BigEndian.Uint64(value[8:])), nil
}

// Add adds one key and its value. Add each key once.
func (t *Totals) Add(key, value []byte) error {
	micros, count, err := Sums(value)
	if err != nil {
		return err
	}
	t.Keys++
	t.Micros += micros
	t.Events += count
	const offsetBasis = 0xcbf29ce484222325
	t.Digest += Digest(mix(fnv1a(fnv1a(offsetBasis, key), value)))
	return nil
}

func fnv1a(h uint64, b []byte) uint64 {
	const prime = 0x100000001b3
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// mix is the finalizer of MurmurHash3. Without it the digest would hardly change when two keys
// exchange their values, because the last bytes of an FNV-1a hash enter it almost linearly.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// MarshalText returns 16 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(d)), nil }

// UnmarshalText decodes the output of MarshalText.
func (d *Digest) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 16, 64)
	*d = Digest(n)
	return err
}
