package changes

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
)

// testRules has all rules of this package, and one rule of the other kinds of rows.
func testRules() Rules {
	return Rules{
		Resource: []Rule[*eventspb.LeaseResource]{
			ResourceVersion, OwnerDeclared(func(region string) bool { return region == "eu" }), HeldOrAvailable, HeldUntil,
			ExpiresWithin(MaxMs), AvailableWithin(MaxMs),
		},
		Key: []Rule[*eventspb.LeaseKey]{func(_ *Change, k *eventspb.LeaseKey) error { return CheckVersion(k.Version, "key", k.Key) }},
		Settings: []Rule[*eventspb.LeasePool]{UnlessDeleted(
			SettingsVersion, QuarantineWithin(MaxQuarantineMs), BucketsInRange,
		)},
		Region: []Rule[*eventspb.LeaseRegion]{func(c *Change, r *eventspb.LeaseRegion) error {
			if c.RecordMs < 0 {
				return stream.Rejectf(ReasonBadState, "state %q", r.State)
			}
			return nil
		}},
	}
}

func resource(change func(c *eventspb.LeaseChange, r *eventspb.LeaseResource)) *eventspb.LeaseChange {
	r := &eventspb.LeaseResource{Resource: "r", Version: 1, Owner: "eu", Holder: "p#k", ExpiresMs: 1000}
	c := &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: 5, Row: &eventspb.LeaseChange_Resource{Resource: r}}
	change(c, r)
	return c
}

func settings(change func(c *eventspb.LeaseChange, p *eventspb.LeasePool)) *eventspb.LeaseChange {
	p := &eventspb.LeasePool{Version: 1, QuarantineMs: 1000, Buckets: 4, Floors: map[string]int64{"eu": 3}}
	c := &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: 5, Row: &eventspb.LeaseChange_Settings{Settings: p}}
	change(c, p)
	return c
}

func row[R any](set func(c *eventspb.LeaseChange, r *R)) *eventspb.LeaseChange {
	c := &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: 5}
	set(c, new(R))
	return c
}

type decodeCase struct {
	name, reason string // an empty reason: the change is valid
	value        []byte
}

func decodeCases(tb testing.TB) (cases []decodeCase) {
	type C = *eventspb.LeaseChange
	type R = *eventspb.LeaseResource
	type P = *eventspb.LeasePool
	for _, x := range []struct {
		name, reason string
		c            C
	}{
		{"leased", "", resource(func(C, R) {})},
		{"available", "", resource(func(_ C, r R) { r.Holder, r.ExpiresMs, r.AvailableMs = "", 0, 5 })},
		{"no row", ReasonNoRow, resource(func(c C, _ R) { c.Row = nil })},
		{"no client", ReasonBadName, resource(func(c C, _ R) { c.Client = "" })},
		{"NUL in the pool", ReasonBadName, resource(func(c C, _ R) { c.Pool = "a\x00b" })},
		{"no resource", ReasonBadName, resource(func(_ C, r R) { r.Resource = "" })},
		{"long resource", ReasonBadName, resource(func(_ C, r R) { r.Resource = string(bytes.Repeat([]byte{'x'}, lease.MaxKey+1)) })},
		{"version 0", ReasonBadVersion, resource(func(_ C, r R) { r.Version = 0 })},
		{"undeclared owner", ReasonUnknownRegion, resource(func(_ C, r R) { r.Owner = "mars" })},
		{"leased and available", ReasonHeldAndAvailable, resource(func(_ C, r R) { r.AvailableMs = 1 })},
		{"leased without an end", ReasonNoExpires, resource(func(_ C, r R) { r.ExpiresMs = 0 })},
		{"end before 1970", ReasonBadTime, resource(func(_ C, r R) { r.ExpiresMs = -1 })},
		{"end after year 9999", ReasonBadTime, resource(func(_ C, r R) { r.ExpiresMs = MaxMs + 1 })},
		{"available before 1970", ReasonBadTime, resource(func(_ C, r R) { r.Holder, r.AvailableMs = "", -1 })},
		{"settings", "", settings(func(C, P) {})},
		{"settings without a pool", ReasonBadName, settings(func(c C, _ P) { c.Pool = "" })},
		{"settings of version 0", ReasonBadVersion, settings(func(_ C, p P) { p.Version = 0 })},
		{"negative quarantine", ReasonBadSettings, settings(func(_ C, p P) { p.QuarantineMs = -1 })},
		{"long quarantine", ReasonBadSettings, settings(func(_ C, p P) { p.QuarantineMs = MaxQuarantineMs + 1 })},
		{"no buckets", ReasonBadSettings, settings(func(_ C, p P) { p.Buckets = 0 })},
		{"many buckets", ReasonBadSettings, settings(func(_ C, p P) { p.Buckets = maxBuckets + 1 })},
		{"settings of a deleted pool", "", settings(func(c C, p P) { c.Gone, p.Version, p.Buckets = true, 0, 0 })},
		{"key of version 0", ReasonBadVersion, row(func(c C, k *eventspb.LeaseKey) { k.Key = "k"; c.Row = &eventspb.LeaseChange_Key{Key: k} })},
		{"no key", ReasonBadName, row(func(c C, k *eventspb.LeaseKey) { c.Row = &eventspb.LeaseChange_Key{Key: k} })},
		{"key", "", row(func(c C, k *eventspb.LeaseKey) {
			k.Key, k.Version, k.State, k.GrantedMs, k.Winner = "k", 3, "superseded", 7, "us"
			c.Row = &eventspb.LeaseChange_Key{Key: k}
		})},
		{"unused row", "", row(func(c C, d *eventspb.LeaseDemand) { c.Client = ""; c.Row = &eventspb.LeaseChange_Demand{Demand: d} })},
		{"region", "", row(func(c C, r *eventspb.LeaseRegion) {
			c.Client = ""
			c.Row = &eventspb.LeaseChange_RegionRow{RegionRow: r}
		})},
		{"heartbeat", "", row(func(c C, h *eventspb.LeaseHeartbeat) {
			h.From, h.WrittenMs = "us", 9
			c.Client, c.Row = "", &eventspb.LeaseChange_Heartbeat{Heartbeat: h}
		})},
	} {
		value, err := proto.Marshal(x.c)
		if err != nil {
			tb.Fatal(err)
		}
		cases = append(cases, decodeCase{x.name, x.reason, value})
	}
	leased := cases[0].value
	return append(cases,
		decodeCase{"nothing", ReasonNoRow, nil},
		decodeCase{"garbage", ReasonUndecodable, []byte{0xff, 0xff}},
		decodeCase{"truncated", ReasonUndecodable, leased[:len(leased)-1]},
		decodeCase{"not UTF-8", ReasonUndecodable, append(slices.Clone(leased), 18, 1, 0xff)},
		decodeCase{"later field", "", append(slices.Clone(leased), 0xa0, 6, 1)},
		decodeCase{"row of a later kind alone", ReasonNoRow, []byte{0xa2, 6, 0}},
		decodeCase{"row twice: merged", ReasonHeldAndAvailable, append(slices.Clone(leased), 82, 2, 48, 9)},
		decodeCase{"another row after it", ReasonBadName, append(slices.Clone(leased), 90, 0)},
	)
}

// TestDecode: each rule rejects its record with its reason, and the other records are folded in
// their order, with prefetched rows.
func TestDecode(t *testing.T) {
	cases := decodeCases(t)
	const rounds = 100 // more than a chunk
	var batch stream.Batch
	var want []string
	for i := range rounds * len(cases) {
		x := cases[i%len(cases)]
		batch.Records = append(batch.Records, stream.Record{Value: x.value, TimeMs: int64(i)})
		if x.reason != "" {
			want = append(want, fmt.Sprint(i, x.reason))
		}
	}
	prefetched, last, folded := map[string]int{}, int64(-1), 0
	d := Decoder{
		Rules:  testRules(),
		RowKey: func(c *Change) string { return RowKey(c, c.GetResource().GetResource()) },
		Prefetch: func(keys []string) error {
			for _, k := range keys {
				prefetched[k]++
			}
			return nil
		},
		Fold: func(c *Change) error {
			if c.RecordMs <= last || prefetched[c.RowKey] == 0 {
				t.Fatalf("record %d after %d; row %q prefetched %d times", c.RecordMs, last, c.RowKey, prefetched[c.RowKey])
			}
			last = c.RecordMs
			folded++
			prefetched[c.RowKey]--
			return nil
		},
	}
	if err := d.Each(&batch); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range batch.Rejects {
		got = append(got, fmt.Sprint(r.Index, r.Reason))
		if r.Detail == "" {
			t.Errorf("record %d: no detail", r.Index)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("rejected\n%v\nwant\n%v", got, want)
	}
	if folded+len(got) != len(batch.Records) {
		t.Errorf("%d folded and %d rejected of %d", folded, len(got), len(batch.Records))
	}
}

// TestDecoderErrors: an error of Prefetch or Fold ends Each.
func TestDecoderErrors(t *testing.T) {
	broken := errors.New("the disk is full")
	value := decodeCases(t)[0].value
	for name, d := range map[string]Decoder{
		"prefetch": {Prefetch: func([]string) error { return broken }, Fold: func(*Change) error { t.Error("folded"); return nil }},
		"fold":     {Fold: func(*Change) error { return broken }},
	} {
		b := stream.Batch{Records: []stream.Record{{Value: value}, {Value: value}}}
		if err := d.Each(&b); !errors.Is(err, broken) || len(b.Rejects) > 0 {
			t.Errorf("%s: %v, %d rejects", name, err, len(b.Rejects))
		}
	}
}

// checkDecode compares the decoder with proto.Unmarshal: a record is undecodable exactly if
// proto.Unmarshal refuses it, the decoded change is what proto.Unmarshal returns, and each other
// reason is one of the closed set.
func checkDecode(t *testing.T, d *Decoder, value []byte, ms int64) (reason string) {
	t.Helper()
	want := &eventspb.LeaseChange{}
	bad := proto.Unmarshal(value, want)
	var c Change
	err := d.Decode(&stream.Record{Value: value, TimeMs: ms}, &c)
	reject, rejected := errors.AsType[*stream.RejectError](err)
	if rejected {
		reason = reject.Reason
	}
	if rejected != (err != nil) || rejected && (!slices.Contains(Reasons(), reason) || reject.Detail == "") {
		t.Fatalf("%x: error %v", value, err)
	}
	if (reason == ReasonUndecodable) != (bad != nil) {
		t.Fatalf("%x: error %v; proto.Unmarshal: %v", value, err, bad)
	}
	if bad != nil {
		return reason
	}
	if !proto.Equal(&c.LeaseChange, want) || c.RecordMs != ms {
		t.Fatalf("%x: decoded %v at %d, want %v", value, &c.LeaseChange, c.RecordMs, want)
	}
	if (reason == ReasonNoRow) != (want.Row == nil) {
		t.Fatalf("%x: error %v for row %v", value, err, want.Row)
	}
	if r := want.GetResource(); r != nil && !rejected && (r.Version < 1 || r.Owner != "eu" || r.ExpiresMs < 0 || r.Resource == "" || want.Client == "") {
		t.Fatalf("accepted %v", want)
	}
	return reason
}

// FuzzDecode runs checkDecode on arbitrary bytes.
func FuzzDecode(f *testing.F) {
	for _, x := range decodeCases(f) {
		f.Add(x.value, int64(10))
	}
	d := Decoder{Rules: testRules()}
	f.Fuzz(func(t *testing.T, value []byte, ms int64) { checkDecode(t, &d, value, ms) })
}

// TestDecodeDamaged runs checkDecode on records with changed, missing, repeated and joined pieces.
func TestDecodeDamaged(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	cases, d, reasons := decodeCases(t), Decoder{Rules: testRules()}, map[string]int{}
	rng := rand.New(rand.NewPCG(4, 2))
	for range n {
		value := slices.Clone(cases[rng.IntN(len(cases))].value)
		for range rng.IntN(4) {
			from := rng.IntN(len(value) + 1)
			to := from + rng.IntN(min(len(value)-from, 12)+1)
			switch rng.IntN(5) {
			case 0:
				value = slices.Delete(value, from, to)
			case 1:
				value = slices.Insert(value, from, value[from:to]...)
			case 2:
				value = slices.Insert(value, from, cases[rng.IntN(len(cases))].value...)
			case 3:
				value = append(value, cases[rng.IntN(len(cases))].value...)
			default:
				if len(value) > 0 {
					value[from%len(value)] = byte(rng.Uint32())
				}
			}
		}
		reasons[checkDecode(t, &d, value, int64(rng.IntN(3)-1))]++
	}
	for _, r := range append(Reasons(), "") {
		if reasons[r] == 0 && r != ReasonUnknownState {
			t.Errorf("no record was rejected as %q", r)
		}
	}
	t.Log(reasons)
}

// BenchmarkDecode decodes and validates the change of a resource.
func BenchmarkDecode(b *testing.B) {
	r := stream.Record{Value: decodeCases(b)[0].value}
	d := Decoder{Rules: testRules()}
	b.ReportAllocs()
	for b.Loop() {
		var c Change
		if err := d.Decode(&r, &c); err != nil {
			b.Fatal(err)
		}
	}
}
