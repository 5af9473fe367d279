package spendlog

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

const (
	recordsFile = "testdata/records.txt"
	rowsFile    = "testdata/rows.txt"
)

// record is a record of spend.by.<dc>.
type record struct {
	partition  int32
	key, value []byte
}

func spendKey(account, campaign string) []byte { return dayKey(account, campaign, 20131109) }

func dayKey(account, campaign string, day events.Day) []byte {
	usd, _ := events.ParseCurrency("USD")
	return spendcounter.AppendKey([]byte{spendcounter.TableSpend}, []byte(account), []byte(campaign), day, usd)
}

// hourKey returns the key of an hour of campaign hours.
func hourKey(hour int32) []byte {
	key := spendKey("acme", "hours")
	key[0] = spendcounter.TableHours
	return binary.BigEndian.AppendUint32(key, uint32(hour))
}

// partKey returns the key of a line item and arm of campaign parts.
func partKey(lineItem, arm string) []byte {
	key := spendKey("acme", "parts")
	key[0] = spendcounter.TableParts
	for _, half := range []string{lineItem, arm} {
		key = append(binary.BigEndian.AppendUint16(key, uint16(len(half))), half...)
	}
	return key
}

func healthKey(dc string, shard int32) []byte {
	return append([]byte{spendcounter.TableHealth}, spendcounter.HealthKey(dc, shard)...)
}

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// golden returns records of all kinds, in an order that a reader must cope with.
func golden(t *testing.T) []record {
	row := func(account, campaign string, incarnation, epoch, sequence uint64, micros int64) record {
		s := &eventspb.Spend{
			Account: account, Campaign: campaign, BudgetDay: 20131109, Currency: "USD", Incarnation: incarnation, OwnerEpoch: epoch, Sequence: sequence,
			ByDc: []*eventspb.SpendByDC{{ServingDc: "eu", ChargedMicros: micros, Events: []*eventspb.TypeCount{{Type: 1, Count: 2}}}},
		}
		return record{0, spendKey(account, campaign), encode(t, s)}
	}
	corrected := row("acme", "corrected", 7, 4, 60, 5)
	s := &eventspb.Spend{}
	if err := proto.Unmarshal(corrected.value, s); err != nil {
		t.Fatal(err)
	}
	s.Corrections = 1
	corrected.value = encode(t, s)
	hour := func(hour int32, micros int64, sequence uint64) record {
		return record{0, hourKey(hour), encode(t, &eventspb.SpendHour{
			Account: "acme", Campaign: "hours", BudgetDay: 20131109, Currency: "USD", Hour: &eventspb.HourSpend{Hour: hour, ChargedMicros: micros, Events: 2},
			Incarnation: 7, OwnerEpoch: 4, Sequence: sequence, AsOfOffset: 50, Corrections: 1,
		})}
	}
	part := func(lineItem, arm string, micros int64, sequence uint64) record {
		return record{0, partKey(lineItem, arm), encode(t, &eventspb.SpendPart{
			Account: "acme", Campaign: "parts", BudgetDay: 20131109, Currency: "USD",
			Part: &eventspb.PartSpend{LineItem: lineItem, Arm: arm, ChargedMicros: micros, Events: 2}, Incarnation: 7, OwnerEpoch: 4, Sequence: sequence,
		})}
	}
	health := func(incarnation, epoch, sequence, lost uint64) record {
		return record{0, healthKey("eu", 0), encode(t, &eventspb.SpendHistogram{
			WriterDc: "eu", Incarnation: incarnation, OwnerEpoch: epoch, Sequence: sequence, TimestampMs: 1383998460000, WrittenAtMs: 1383998460100,
			Origins: []*eventspb.OriginHealth{
				{Dc: "eu", WatermarkMs: 1383998460000, CumulativeCount: 20, CumulativeMicros: 1700},
				{Dc: "us", WatermarkMs: 1383998459000, CumulativeCount: 3, CumulativeMicros: 30, Lost: lost},
			},
		})}
	}
	lifetime := record{0, dayKey("acme", "hours", 0), encode(t, &eventspb.Spend{
		Account: "acme", Campaign: "hours", Currency: "USD", Incarnation: 7, OwnerEpoch: 4, Sequence: 71, ByDc: []*eventspb.SpendByDC{{ServingDc: "eu", ChargedMicros: 70}},
	})}
	other := row("umbrella", "old", 3, 1, 1, 8)
	other.partition = 1 // another shard, whose state was not deleted
	list := []record{
		{0, []byte("\x00m"), []byte{0x08, 0x01}}, // a marker
		{0, []byte("\x00b"), []byte("token")},    // a barrier
		row("acme", "gone", 6, 9, 90, 100),       // of a state that is deleted below
		other,
	}
	list = append(list, counted(t)...)
	return append(list, []record{
		row("acme", "summer", 7, 2, 20, 300),
		row("acme", "summer", 7, 1, 30, 999), // a zombie
		row("acme", "summer", 7, 2, 20, 300), // again
		row("acme", "gone", 6, 9, 91, 101),   // of the deleted state, late
		row("acme", "deleted", 7, 2, 22, 4),
		{0, spendKey("acme", "deleted"), nil},
		row("acme", "corrected", 7, 3, 50, 500),
		corrected,
		hour(383_999, 7, 70),
		hour(384_000, 9, 70),
		hour(384_000, 8, 69), // older
		lifetime,
		{0, hourKey(383_999), nil}, // its day is closed
		row("acme", "parts", 7, 4, 75, 40),
		part("banner", "größer", 10, 72),
		part("banner", "größer", 11, 73),
		part("banner", "größer", 10, 72), // again
		part("banner", "", 12, 73),
		part("", "b", 4, 73),
		part("", "", 9, 74),        // the pairs without a row of their own
		{0, partKey("", "b"), nil}, // it is one of them now
		{0, []byte("\x02task"), []byte{0x08, 0x01}},
		{0, []byte("\x04spring\x00acme"), []byte{}},
		{0, []byte("\xc8future table"), []byte{1}},
		health(7, 4, 75, 3),
		health(7, 3, 80, 9), // a zombie
	}...)
}

// counted returns the rows of a campaign day and of the health that a counter writes for one event.
func counted(t *testing.T) (list []record) {
	c, err := spendcounter.New(spendcounter.Config{DC: "eu", Shard: func([]byte) int32 { return 0 }}, stream.Task{
		Get:  func(byte, []byte) ([]byte, error) { return nil, nil },
		Scan: func(byte, []byte, func(key, value []byte) error) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	e := events.AppendEvent(nil, &eventspb.AdEvent{
		EventId: "e1", Type: eventspb.EventType_EVENT_TYPE_CLICK, Account: "acme", Campaign: "spring", PriceMicros: 1234, Currency: "USD",
		BudgetDay: 20131109, EventMs: 1383998400000, IngestMs: 1383998400005,
	})
	b := &stream.Batch{Topic: events.EventsTopic, Records: []stream.Record{{Value: e, Offset: 41, TimeMs: 1383998400010}}}
	var ch stream.Changes
	cm := stream.Commit{NowMs: 1383998400100, Incarnation: 7, OwnerEpoch: 2, Sequence: 10, Next: map[string]int64{events.EventsTopic: 42}}
	if err := errors.Join(c.Fold(b), c.Flush(cm, &ch)); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, b.Rejects)
	}
	for _, x := range ch.List {
		if x.Op == stream.OpPut && (x.Table == spendcounter.TableSpend || x.Table == spendcounter.TableHealth) {
			list = append(list, record{0, bytes.Clone(x.LogKey()), bytes.Clone(x.Value)})
		}
	}
	if len(list) != 2 {
		t.Fatalf("the counter wrote the rows %x", list)
	}
	return list
}

// format returns records as text: partition, key and value in hexadecimal digits, - for no value.
func format(list []record) string {
	var b strings.Builder
	for _, r := range list {
		value := hex.EncodeToString(r.value)
		if r.value == nil {
			value = "-"
		} else if value == "" {
			value = `""`
		}
		fmt.Fprintln(&b, r.partition, hex.EncodeToString(r.key), value)
	}
	return b.String()
}

func parse(t *testing.T, text string) (list []record) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		p, err := strconv.ParseInt(f[0], 10, 32)
		key, bad := hex.DecodeString(f[1])
		r := record{partition: int32(p), key: key}
		if f[2] != "-" {
			r.value, _ = hex.DecodeString(strings.Trim(f[2], `"`))
			r.value = append([]byte{}, r.value...)
		}
		if err := errors.Join(err, bad); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// describe returns the rows of a table as text, ordered.
func describe(table *Table) string {
	var lines []string
	for r := range table.All() {
		if h := r.Health; h != nil {
			line := fmt.Sprint("health ", r.Writer, " ", r.Shard)
			for _, o := range h.Origins {
				line += fmt.Sprint(" ", o.Dc, " ", o.WatermarkMs, " ", o.CumulativeMicros, " ", o.Lost)
			}
			lines = append(lines, fmt.Sprint(line, " closed day ", h.ClosedDay, "\n"))
			continue
		}
		line := fmt.Sprint(r.Account, " ", r.Campaign, " ", int32(r.Day), " ", r.Currency)
		if h := r.Hourly; h != nil {
			lines = append(lines, fmt.Sprint(line, " hour ", r.Hour, " ", h.Hour.ChargedMicros, " corrections ", h.Corrections, "\n"))
			continue
		}
		if p := r.Part; p != nil {
			lines = append(lines, fmt.Sprintf("%s part %q %q %d corrections %d\n", line, r.LineItem, r.Arm, p.Part.ChargedMicros, p.Corrections))
			continue
		}
		for _, by := range r.Spend.ByDc {
			line += fmt.Sprint(" ", by.ServingDc, " ", by.ChargedMicros, " ", by.RefundedMicros)
		}
		lines = append(lines, fmt.Sprint(line, " corrections ", r.Spend.Corrections, "\n"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func apply(t interface{ Fatal(...any) }, table *Table, list []record) {
	for _, r := range list {
		if _, err := table.Apply(r.partition, r.key, r.value); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGolden: the counter writes the bytes of the golden file, and a reader keeps the newest rows.
// Other languages read the same file, so a change of the bytes is a change of the contract.
func TestGolden(t *testing.T) {
	want := format(golden(t))
	var table Table
	apply(t, &table, parse(t, want))
	if os.Getenv("WEIR_TEST_REWRITE") != "" {
		if err := errors.Join(os.WriteFile(recordsFile, []byte(want), 0o600), os.WriteFile(rowsFile, []byte(describe(&table)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	records, err := os.ReadFile(recordsFile)
	rows, failed := os.ReadFile(rowsFile)
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	if got := describe(&table); string(records) != want || string(rows) != got {
		t.Errorf("%s has\n%s\nand the code writes\n%s\n%s has\n%s\nand the code reads\n%s", recordsFile, records, want, rowsFile, rows, got)
	}
	apply(t, &table, parse(t, want)[5:11]) // a reader may read some again
	usd, err := events.ParseCurrency("USD")
	if err != nil {
		t.Fatal(err)
	}
	key := Key{Account: "acme", Campaign: "summer", Day: 20131109, Currency: usd}
	if row, ok := table.Get(key); !ok || row.Spend.ByDc[0].ChargedMicros != 300 {
		t.Errorf("%v is %v, %t", key, row, ok)
	}
}

// TestPython runs the program of docs/spend-topics.md on the golden file.
func TestPython(t *testing.T) {
	python := cmp.Or(os.Getenv("WEIR_TEST_PYTHON"), "python3")
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import grpc_tools, google.protobuf").CombinedOutput(); err != nil {
		t.Skipf("needs Python with grpcio-tools (WEIR_TEST_PYTHON names an interpreter): %v: %s", err, out)
	}
	page, err := os.ReadFile("../../docs/spend-topics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "```python\n")
	block, _, closed := strings.Cut(block, "\n```")
	if !found || !closed {
		t.Fatal("docs/spend-topics.md has no block of python")
	}
	dir := t.TempDir()
	protos, err := filepath.Abs("../../events/eventspb")
	records, bad := filepath.Abs(recordsFile)
	if err := errors.Join(err, bad, os.WriteFile(filepath.Join(dir, "read.py"), []byte(block), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-m", "grpc_tools.protoc", "-I", protos, "--python_out=.", "ads.proto"}, {"read.py", records}} {
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		if want, err := os.ReadFile(rowsFile); args[0] == "read.py" && (err != nil || string(out) != string(want)) {
			t.Errorf("python reads\n%s\nwant\n%s", out, want)
		}
	}
}

// TestNewerSchema: a reader stops at a newer schema, and reads a message with unknown fields.
func TestNewerSchema(t *testing.T) {
	s := &eventspb.Spend{Account: "acme", Campaign: "spring", Schema: Schema + 1}
	if _, _, err := Decode(spendKey("acme", "spring"), encode(t, s)); !errors.Is(err, ErrNewer) {
		t.Errorf("a row: %v", err)
	}
	if _, _, err := Decode(healthKey("eu", 3), encode(t, &eventspb.SpendHistogram{Schema: Schema + 1})); !errors.Is(err, ErrNewer) {
		t.Errorf("a health row: %v", err)
	}
	if _, _, err := Decode(hourKey(1), encode(t, &eventspb.SpendHour{Schema: Schema + 1})); !errors.Is(err, ErrNewer) {
		t.Errorf("an hour: %v", err)
	}
	if _, _, err := Decode(partKey("", ""), encode(t, &eventspb.SpendPart{Schema: Schema + 1})); !errors.Is(err, ErrNewer) {
		t.Errorf("a part: %v", err)
	}
	s.Schema = Schema
	unknown := append(encode(t, s), 0xf8, 0x3f, 0x01) // field 1023
	if row, ok, err := Decode(spendKey("acme", "spring"), unknown); !ok || err != nil || row.Spend.Account != "acme" {
		t.Errorf("%v, %t, %v", row, ok, err)
	}
}

// TestDecodeReadsTheDataset: Decode reads the tables of the dataset, their tombstones too, and
// skips all other tables.
func TestDecodeReadsTheDataset(t *testing.T) {
	keys := map[byte][]byte{
		spendcounter.TableSpend: spendKey("acme", "spring"), spendcounter.TableHours: hourKey(1), spendcounter.TableParts: partKey("a", "b"),
		spendcounter.TableHealth: healthKey("eu", 3),
	}
	for table := range 256 {
		key := keys[byte(table)]
		if key == nil {
			key = []byte{byte(table), 'k'}
		}
		for _, value := range [][]byte{{}, nil} {
			row, ok, err := Decode(key, value)
			if want := slices.Contains(spendcounter.DatasetTables(), byte(table)); ok != want || err != nil {
				t.Errorf("table %d: %+v, %t, %v; in the dataset: %t", table, row, ok, err, want)
			}
			if tombstone := row.version() == nil; ok && tombstone != (value == nil) {
				t.Errorf("table %d, value %v: %+v", table, value, row)
			}
		}
	}
	row, ok, err := Decode(healthKey("eu-west-1", 23), []byte{})
	if want := (Key{Kind: Health, Writer: "eu-west-1", Shard: 23}); row.Key != want || !ok || err != nil {
		t.Errorf("%+v, %t, %v", row.Key, ok, err)
	}
	for _, bad := range [][2]string{{"\x0ceu", ""}, {"\x0ceu/x", ""}, {"\x0ceu/1", "\xff"}} {
		if row, ok, err := Decode([]byte(bad[0]), []byte(bad[1])); ok || err == nil {
			t.Errorf("%q: %+v, %t", bad, row, ok)
		}
	}
}

// TestOrderDoesNotMatter: a table that reads the rows of one partition in another order, and some
// again, has the same rows.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []record
		incarnation, epoch, sequence := uint64(1), uint64(1), uint64(0)
		for i := range rapid.IntRange(1, 20).Draw(t, "rows") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				epoch++
			case 1:
				incarnation, epoch, sequence = incarnation+1, 1, 0
			}
			sequence++
			campaign := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "campaign")
			s := &eventspb.Spend{Incarnation: incarnation, OwnerEpoch: epoch, Sequence: sequence, ByDc: []*eventspb.SpendByDC{{ChargedMicros: int64(i)}}}
			value, err := proto.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, record{0, spendKey("acme", campaign), value})
		}
		var inOrder, shuffled Table
		apply(t, &inOrder, list)
		apply(t, &shuffled, rapid.Permutation(append(slices.Clone(list), list...)).Draw(t, "order"))
		if a, b := describe(&inOrder), describe(&shuffled); a != b {
			t.Fatalf("in order\n%s\nshuffled\n%s", a, b)
		}
	})
}

// FuzzDecode: no bytes make a reader panic, and a row has the key of its record.
func FuzzDecode(f *testing.F) {
	f.Add(spendKey("acme", "spring"), encode(f, &eventspb.Spend{Account: "acme"}))
	f.Add(hourKey(383_999), encode(f, &eventspb.SpendHour{Account: "acme"}))
	f.Add(partKey("banner", "größer"), encode(f, &eventspb.SpendPart{Account: "acme"}))
	f.Add(healthKey("eu", 23), encode(f, &eventspb.SpendHistogram{WriterDc: "eu", Shard: 23, Origins: []*eventspb.OriginHealth{{Dc: "eu"}}}))
	f.Add([]byte("\x00m"), []byte{8, 1})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		row, ok, err := Decode(key, value)
		if !ok || err != nil {
			return
		}
		again := spendcounter.AppendKey([]byte{key[0]}, []byte(row.Account), []byte(row.Campaign), row.Day, row.Currency)
		switch row.Kind {
		case CampaignDay:
		case Hour:
			again = binary.BigEndian.AppendUint32(again, uint32(row.Hour))
		case Part:
			for _, half := range []string{row.LineItem, row.Arm} {
				again = append(binary.BigEndian.AppendUint16(again, uint16(len(half))), half...)
			}
		case Health:
			again = healthKey(row.Writer, row.Shard)
		}
		if !bytes.Equal(again, key) {
			t.Errorf("key %x is read as %+v", key, row.Key)
		}
	})
}
