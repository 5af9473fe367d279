package spendcounter

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
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

// TestDatasetTables: each table of the changelog is in the dataset or out of it on purpose.
func TestDatasetTables(t *testing.T) {
	out := map[byte]string{
		TableTask: "positions and clocks of the counter; the health row has what readers need", TableMovedIDs: "duplicate window",
		TableBuckets: "duplicate window", TableReferences: "adjustments that were applied", TableImports: "positions in imports",
		TableCampaigns: "made from the campaign days", TableRanking: "made from the campaign days", TableTotals: "made from the campaign days",
	}
	in := DatasetTables()
	known := map[byte]bool{}
	for _, table := range tables(24) {
		if table.Number >= stream.FirstLocalTable {
			continue
		}
		known[table.Number] = true
		if why, excluded := out[table.Number]; excluded == slices.Contains(in, table.Number) {
			t.Errorf("table %d, %s: in the dataset: %t; out of it: %q; it must be one of the two", table.Number, table.Name, !excluded, why)
		}
	}
	if len(known) != len(in)+len(out) {
		t.Errorf("%d tables are described, %d are in the dataset, %d are out of it", len(known), len(in), len(out))
	}
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(t, testConfig(), drawLogs(t, shape{bad: true}))
		r.all()
		for table, rows := range r.store.tables {
			if table < stream.FirstLocalTable && len(rows) > 0 && !known[table] {
				t.Fatalf("the counter writes table %d, which is not described", table)
			}
		}
	})
}
