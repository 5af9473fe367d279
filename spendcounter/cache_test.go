package spendcounter

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/dense"
)

const usd = events.Currency('U'<<16 | 'S'<<8 | 'D')

// TestEqualHashesAreTwoCampaigns gives different keys the same hash.
func TestEqualHashesAreTwoCampaigns(t *testing.T) {
	c := cache{epoch: 1}
	const hash = 0x1234567890abcdef
	keys := [][4]string{{"c", "a"}, {"ca", "a"}, {"c", "aa"}, {"a", "c"}, {"c1", "a1"}}
	for _, day := range []events.Day{20240101, 20240102} {
		for _, cur := range []events.Currency{usd, 'E'<<16 | 'U'<<8 | 'R'} {
			for _, k := range keys {
				campaign, account := []byte(k[0]), []byte(k[1])
				if n := c.find(hash, account, campaign, tailOf(day, cur)); n != dense.None {
					t.Fatalf("%q is found as entry %d, %q", k, n, c.key(&c.list[n]))
				}
				n, err := c.add(hash, AppendKey(nil, account, campaign, day, cur))
				if err != nil || c.find(hash, account, campaign, tailOf(day, cur)) != n {
					t.Fatalf("%q is not found after it was added: %v", k, err)
				}
			}
		}
	}
}

// TestEviction: the youngest entries stay, at most the limit, and their content is unchanged.
func TestEviction(t *testing.T) {
	c := cache{epoch: 1}
	touch := func(i int) {
		campaign := []byte(fmt.Sprint("c", i))
		h := hashKey([]byte("a"), campaign, 20240101, usd)
		n := c.find(h, []byte("a"), campaign, tailOf(20240101, usd))
		if n == dense.None {
			n, _ = c.add(h, AppendKey(nil, []byte("a"), campaign, 20240101, usd))
		}
		e := &c.list[n]
		c.touch(e, n)
		c.charge(e, 0, 1, int64(i))
		c.charge(e, uint16(i%2), 3, 7)
	}
	held := func(i int) bool {
		campaign := []byte(fmt.Sprint("c", i))
		n := c.find(hashKey([]byte("a"), campaign, 20240101, usd), []byte("a"), campaign, tailOf(20240101, usd))
		if n == dense.None {
			return false
		}
		e := c.list[n]
		if p := c.part(&e, uint16(i%2)); p.counts[3] != 1 || e.charged+p.charged != int64(i)+7 && i%2 == 1 {
			t.Fatalf("campaign %d came through as %+v %+v", i, e, p)
		}
		return true
	}
	for i := range 20 { // one per epoch
		touch(i)
		c.closeEpoch(100)
	}
	for i := 20; i < 24; i++ {
		touch(i)
	}
	c.closeEpoch(12) // 24 are above the limit: 6 stay
	for i := range 24 {
		if held(i) != (i >= 18) {
			t.Errorf("campaign %d held: %v", i, held(i))
		}
	}
	if c.evictions != 18 || len(c.dirty) != 0 {
		t.Errorf("%d evictions, %d dirty", c.evictions, len(c.dirty))
	}
	for i := 100; i < 150; i++ {
		touch(i)
	}
	c.closeEpoch(12) // all 50 changed in this epoch: the limit stays
	n := 0
	for i := range 150 {
		if held(i) {
			n++
		}
	}
	if n != 12 || len(c.list) != 12 || c.evictions != 18+6+38 {
		t.Errorf("%d campaigns are found, %d entries, %d evictions", n, len(c.list), c.evictions)
	}
	for i := 200; i < 209; i++ {
		touch(i)
	}
	c.closeEpoch(12) // 9 of 21 changed in this epoch, more than half of the limit: all of them stay
	for i := range 210 {
		if held(i) != (i >= 200 && i < 209) {
			t.Errorf("campaign %d held: %v", i, held(i))
		}
	}
}

// TestMemoryPerCampaign compares the size of an entry with the size that Config documents.
func TestMemoryPerCampaign(t *testing.T) {
	c := cache{epoch: 1}
	const n = 100_000
	for i := range n {
		campaign, account := fmt.Appendf(nil, "campaign-%07d", i), fmt.Appendf(nil, "account-%05d", i/10)
		k, err := c.add(hashKey(account, campaign, 20240101, usd), AppendKey(nil, account, campaign, 20240101, usd))
		if err != nil {
			t.Fatal(err)
		}
		c.touch(&c.list[k], k)
	}
	if per := c.bytes() / n; per > 200 {
		t.Errorf("%d bytes per campaign", per)
	}
}
