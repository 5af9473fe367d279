package main

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// log returns a log of two partitions with n records each, partition by partition.
func log(n int) (records []*kgo.Record) {
	for i := range 2 * n {
		records = append(records, &kgo.Record{
			Partition: int32(i / n), Key: []byte("account"), Value: fmt.Appendf(nil, "event %d", i), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)),
		})
	}
	return records
}

// compareCopies compares the copies with a log of 100 records in each partition.
func compareCopies(copies []*kgo.Record) differences {
	o := newOriginal(2)
	for _, r := range log(100) {
		o.add(r)
	}
	c := o.compare()
	for _, r := range copies {
		c.add(r)
	}
	return c.end()
}

// TestComparisonNotices injects a fault into exact copies, and requires that the comparison reports
// it and no other.
func TestComparisonNotices(t *testing.T) {
	altered := func(change func(*kgo.Record)) func([]*kgo.Record) []*kgo.Record {
		return func(l []*kgo.Record) []*kgo.Record {
			change(l[42])
			return l
		}
	}
	for name, tc := range map[string]struct {
		inject func([]*kgo.Record) []*kgo.Record
		want   differences
	}{
		"nothing": {altered(func(*kgo.Record) {}), differences{}},
		"a header more": {altered(func(r *kgo.Record) {
			r.Headers = []kgo.RecordHeader{{Key: "weir-origin"}}
		}), differences{}},
		"a duplicate": {func(l []*kgo.Record) []*kgo.Record { return slices.Insert(l, 43, l[42]) }, differences{Duplicates: 1}},
		"a duplicate of the last record": {
			func(l []*kgo.Record) []*kgo.Record { return append(l, l[199]) }, differences{Duplicates: 1},
		},
		"a restart from an earlier record": {
			func(l []*kgo.Record) []*kgo.Record { return slices.Concat(l[:150], l[100:]) }, differences{Duplicates: 50},
		},
		"a lost record":                {func(l []*kgo.Record) []*kgo.Record { return slices.Delete(l, 42, 43) }, differences{Lost: 1}},
		"the first record lost":        {func(l []*kgo.Record) []*kgo.Record { return l[1:] }, differences{Lost: 1}},
		"the end of a partition lost":  {func(l []*kgo.Record) []*kgo.Record { return slices.Delete(l, 90, 100) }, differences{Lost: 10}},
		"everything lost":              {func([]*kgo.Record) []*kgo.Record { return nil }, differences{Lost: 200}},
		"two swapped":                  {func(l []*kgo.Record) []*kgo.Record { l[42], l[43] = l[43], l[42]; return l }, differences{Disordered: 1}},
		"a range moved to the end":     {func(l []*kgo.Record) []*kgo.Record { return slices.Concat(l[:110], l[120:], l[110:120]) }, differences{Disordered: 10}},
		"an altered key":               {altered(func(r *kgo.Record) { r.Key = []byte("accounts") }), differences{Lost: 1, Altered: 1}},
		"an altered byte of the value": {altered(func(r *kgo.Record) { r.Value = bytes.ToUpper(r.Value) }), differences{Lost: 1, Altered: 1}},
		"a byte that moved from the key to the value": {altered(func(r *kgo.Record) {
			r.Key, r.Value = r.Key[:6], append([]byte{r.Key[6]}, r.Value...)
		}), differences{Lost: 1, Altered: 1}},
		"an altered timestamp": {altered(func(r *kgo.Record) {
			r.Timestamp = r.Timestamp.Add(time.Millisecond)
		}), differences{Lost: 1, Altered: 1}},
		"another partition": {altered(func(r *kgo.Record) { r.Partition = 1 }), differences{Lost: 1, Altered: 1}},
	} {
		if got := compareCopies(tc.inject(log(100))); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestComparisonTwice: the comparisons of one log do not influence each other.
func TestComparisonTwice(t *testing.T) {
	o := newOriginal(2)
	for _, r := range log(100) {
		o.add(r)
	}
	o.compare().add(log(100)[7])
	if got := o.compare().end(); got != (differences{Lost: 200}) {
		t.Errorf("second comparison without copies: %s", got)
	}
}
