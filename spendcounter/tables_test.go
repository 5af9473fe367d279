package spendcounter

import (
	"testing"

	"github.com/weirhq/weir/events"
)

// The description of the spend table shows the fields of a key, and finds its partition: that of
// the account.
func TestTables(t *testing.T) {
	const shards = 24
	currency, err := events.ParseCurrency("USD")
	if err != nil {
		t.Fatal(err)
	}
	table := tables(shards)[0]
	if table.Number != TableSpend {
		t.Fatalf("the first table is %d", table.Number)
	}
	for account := range 100 {
		name := []byte{'a', byte('0' + account/10), byte('0' + account%10)}
		key := AppendKey(nil, name, []byte("spring"), 20261123, currency)
		if p, ok := table.Partition(key); !ok || p != events.ShardBytes(name, shards) {
			t.Fatalf("account %s: partition %d, %t", name, p, ok)
		}
		if text, err := table.Key(key); err != nil || string(text) != `{"account":"`+string(name)+`","campaign":"spring","day":"2026-11-23","currency":"USD"}` {
			t.Fatalf("%s, %v", text, err)
		}
	}
	key := AppendKey(nil, []byte("acme"), []byte("spring"), 20261123, currency)
	seen := 0
	for _, other := range tables(shards) {
		switch other.Number {
		case TableCampaigns:
			seen++
			if p, ok := other.Partition(appendIndexKey(nil, key)); !ok || p != events.Shard("acme", shards) {
				t.Errorf("index: partition %d, %t", p, ok)
			}
		case TableRanking:
			seen++
			want, err := table.Key(key)
			if err != nil {
				t.Fatal(err)
			}
			ranked := appendRankingKey(nil, 20261123<<24|uint64(currency), []byte("acme\x00spring"))
			if text, err := other.Key(ranked); err != nil || string(text) != string(want) {
				t.Errorf("ranking: %s, %v; want %s", text, err, want)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d of the 2 tables are described", seen)
	}
	if _, err := table.Key([]byte("x")); err == nil {
		t.Error("a damaged key has fields")
	}
	if _, ok := table.Partition([]byte("x")); ok {
		t.Error("a damaged key has a partition")
	}
}
