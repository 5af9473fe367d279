package spendcounter

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
)

func TestKeyRoundTrip(t *testing.T) {
	id := rapid.SliceOfN(rapid.ByteRange(1, 255), 1, 20)
	rapid.Check(t, func(t *rapid.T) {
		account, campaign := id.Draw(t, "account"), id.Draw(t, "campaign")
		day := events.Day(rapid.Int32Range(19700101, 99991231).Draw(t, "day"))
		currency := events.Currency('E'<<16 | 'U'<<8 | 'R')
		key := AppendKey(nil, account, campaign, day, currency)
		a, c, d, cur, err := ParseKey(key)
		if err != nil || !bytes.Equal(c, campaign) || !bytes.Equal(a, account) || d != day || cur != currency {
			t.Fatalf("%q gave %q %q %d %v, error %v", key, c, a, d, cur, err)
		}
		index := appendIndexKey(nil, key)
		if c, a, err := ParseIndexKey(index); err != nil || !bytes.Equal(c, campaign) || !bytes.Equal(a, account) {
			t.Fatalf("index key %q gave %q %q, error %v", index, c, a, err)
		}
		for _, other := range [][]byte{account, campaign, id.Draw(t, "other"), append(bytes.Clone(account), 'x')} {
			if bytes.HasPrefix(key, AccountPrefix(string(other))) != bytes.Equal(account, other) ||
				bytes.HasPrefix(key, CampaignPrefix(string(account), string(other))) != bytes.Equal(campaign, other) ||
				bytes.HasPrefix(index, IndexPrefix(string(other))) != bytes.Equal(campaign, other) {
				t.Fatalf("prefixes of %q, key %q and index key %q", other, key, index)
			}
		}
	})
}

func TestParseKeyRefuses(t *testing.T) {
	good := AppendKey(nil, []byte("a"), []byte("c"), 20240101, 'U'<<16|'S'<<8|'D')
	for _, key := range [][]byte{nil, {0}, good[:len(good)-1], append([]byte{'a', 0}, good...), []byte("no separator at all")} {
		if _, _, _, _, err := ParseKey(key); err == nil {
			t.Errorf("%q is not a spend key", key)
		}
	}
	for _, key := range [][]byte{nil, []byte("no separator"), good} {
		if _, _, err := ParseIndexKey(key); err == nil {
			t.Errorf("%q is not an index key", key)
		}
	}
}

func TestHealthKey(t *testing.T) {
	for _, dc := range []string{"a", "eu-west-1", strings.Repeat("x", 32)} {
		for _, shard := range []int32{0, 9, 10, math.MaxInt32} {
			if gotDC, got, err := ParseHealthKey(HealthKey(dc, shard)); gotDC != dc || got != shard || err != nil {
				t.Errorf("%s/%d is read as %s/%d: %v", dc, shard, gotDC, got, err)
			}
		}
	}
	for _, bad := range []string{"", "/", "eu", "eu/", "/1", "eu/01", "eu/+1", "eu/-1", "eu/1/2", "eu/2147483648", "EU/1", "eu/1\x00", "eu /1"} {
		if dc, shard, err := ParseHealthKey([]byte(bad)); err == nil {
			t.Errorf("%q is read as %s/%d", bad, dc, shard)
		}
	}
	if got := string(HealthKey("eu-west-1", 7)); got != "eu-west-1/7" {
		t.Error(got)
	}
}
