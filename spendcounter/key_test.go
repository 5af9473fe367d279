package spendcounter

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
)

func TestKeyRoundTrip(t *testing.T) {
	id := rapid.SliceOfN(rapid.ByteRange(1, 255), 1, 20)
	rapid.Check(t, func(t *rapid.T) {
		campaign, account := id.Draw(t, "campaign"), id.Draw(t, "account")
		day := events.Day(rapid.Int32Range(19700101, 99991231).Draw(t, "day"))
		currency := events.Currency('E'<<16 | 'U'<<8 | 'R')
		key := AppendKey(nil, campaign, account, day, currency)
		c, a, d, cur, err := ParseKey(key)
		if err != nil || !bytes.Equal(c, campaign) || !bytes.Equal(a, account) || d != day || cur != currency {
			t.Fatalf("%q gave %q %q %d %v, error %v", key, c, a, d, cur, err)
		}
		other := id.Draw(t, "other campaign")
		if bytes.HasPrefix(key, CampaignPrefix(string(other))) != bytes.Equal(campaign, other) {
			t.Fatalf("prefix of %q and key %q", other, key)
		}
	})
}

func TestParseKeyRefuses(t *testing.T) {
	good := AppendKey(nil, []byte("c"), []byte("a"), 20240101, 'U'<<16|'S'<<8|'D')
	for _, key := range [][]byte{nil, {0}, good[:len(good)-1], append([]byte{'c', 0}, good...), []byte("no separator at all")} {
		if _, _, _, _, err := ParseKey(key); err == nil {
			t.Errorf("%q is not a spend key", key)
		}
	}
}

func TestHealthKey(t *testing.T) {
	if got := string(HealthKey("eu-west-1", 7)); got != "eu-west-1/7" {
		t.Error(got)
	}
}
