package table

import (
	"bytes"
	"cmp"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

func parse(t interface{ Fatal(...any) }, text string) item.Item {
	var d item.Decoder
	it, err := d.Item(jsonscan.New([]byte(text)))
	if err != nil {
		t.Fatal(text, err)
	}
	return it
}

func keys(sort item.Kind) Keys { return Keys{Attr{"pk", item.S}, Attr{"sk", sort}} }

func number(t interface{ Fatal(...any) }, text string) item.Value {
	return parse(t, `{"n":{"N":"`+text+`"}}`).Get("n")
}

// TestOrder: the keys of a partition are ordered by their sort keys, whatever bytes these have, and
// partitions are not mixed.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.Bool().Draw(t, "numbers")
		type one struct {
			pk, sk string
			worth  *big.Rat
		}
		rows, all := NewRows(), map[string][]one{}
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			x := one{pk: rapid.SampledFrom([]string{"a", "a\x00", "a\x00b", "b"}).Draw(t, "pk")}
			var kind item.Kind
			var v item.Value
			if numbers {
				kind = item.N
				x.sk = rapid.SampledFrom([]string{"0", "-1", "1", "1.5", "-1.5", "10", "9", "1e100", "-1e100", "1e-100", "-1e-100", "12345678901234567890", "12345678901234567891"}).Draw(t, "sk")
				x.worth, _ = new(big.Rat).SetString(x.sk)
				v = number(t, x.sk)
			} else {
				x.sk = string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0x7f}), 0, 4).Draw(t, "sk"))
				kind, v = item.S, item.Str(x.sk)
			}
			it := item.Of(item.Attr{Name: "pk", Value: item.Str(x.pk)}, item.Attr{Name: "sk", Value: v})
			key := string(keys(kind).Append(nil, it))
			if !rows.Get(key).Exists() {
				all[x.pk] = append(all[x.pk], x)
			}
			rows.Set(key, Row{Item: it})
		}
		for pk, want := range all {
			slices.SortFunc(want, func(a, b one) int {
				if numbers {
					return a.worth.Cmp(b.worth)
				}
				return cmp.Compare(a.sk, b.sk)
			})
			var up, down []string
			span := Prefix(string(AppendPartition(nil, item.Str(pk))))
			for _, row := range rows.Ascend(span) {
				up = append(up, row.Item.Get("sk").Text())
			}
			for _, row := range rows.Descend(span) {
				down = append(down, row.Item.Get("sk").Text())
			}
			slices.Reverse(down)
			if len(up) != len(want) || !slices.Equal(up, down) {
				t.Fatalf("%d rows of %d: %q, backwards %q", len(up), len(want), up, down)
			}
			for i, x := range want {
				if got, _ := new(big.Rat).SetString(up[i]); up[i] != x.sk && (!numbers || got.Cmp(x.worth) != 0) {
					t.Fatalf("%q at %d, wanted %q", up[i], i, x.sk)
				}
			}
		}
	})
}

func TestSizeFollowsRows(t *testing.T) {
	rows := NewRows()
	a, b := parse(t, `{"pk":{"S":"a"}}`), parse(t, `{"pk":{"S":"a"},"x":{"S":"12345"}}`)
	for _, step := range []struct {
		row  Row
		want int
	}{{Row{Item: a}, 3}, {Row{Item: b}, 9}, {Row{Item: b}, 9}, {Row{}, 0}, {Row{}, 0}} {
		if rows.Set("k", step.row); rows.Size() != int64(step.want) {
			t.Fatalf("%d bytes, wanted %d", rows.Size(), step.want)
		}
	}
}

func TestMoves(t *testing.T) {
	d := &Definition{
		KeySchema:            []KeyElement{{"pk", "HASH"}},
		AttributeDefinitions: []AttributeDefinition{{"pk", "S"}, {"a", "S"}},
	}
	in := NewIndex(d, IndexDefinition{IndexName: "x", KeySchema: []KeyElement{{"a", "HASH"}}, Projection: Projection{ProjectionType: "INCLUDE", NonKeyAttributes: []string{"p"}}})
	none := item.Item{}
	out, one := parse(t, `{"pk":{"S":"k"}}`), parse(t, `{"pk":{"S":"k"},"a":{"S":"1"},"z":{"S":"z"}}`)
	other, projected := parse(t, `{"pk":{"S":"k"},"a":{"S":"1"},"z":{"S":"y"}}`), parse(t, `{"pk":{"S":"k"},"a":{"S":"1"},"p":{"S":"y"}}`)
	two := parse(t, `{"pk":{"S":"k"},"a":{"S":"2"}}`)
	for i, x := range []struct {
		from, to item.Item
		writes   int
		rows     int
	}{{none, out, 0, 0}, {out, one, 1, 1}, {one, other, 0, 1}, {other, projected, 1, 1}, {projected, two, 2, 1}, {two, none, 1, 0}} {
		m := in.Move("key", x.from, x.to)
		if n, _ := m.Cost(); n != x.writes || m.IsEmpty() != (n == 0) {
			t.Errorf("step %d: %d writes, wanted %d", i, n, x.writes)
		}
		if in.Apply(m); in.Rows.Len() != x.rows {
			t.Errorf("step %d: %d rows, wanted %d", i, in.Rows.Len(), x.rows)
		}
	}
	for _, row := range in.Rows.Ascend(Span{}) {
		t.Error(row)
	}
	entry, shown := in.Entry("key", one)
	if shown != one.Only("pk", "a") || !bytes.Equal(in.Keys.Append(nil, one), []byte(entry[:len(entry)-3])) {
		t.Errorf("%q %s", entry, shown)
	}
}

func TestStampsHaveAnOrder(t *testing.T) {
	early, late, other := Stamp{1, "b"}, Stamp{2, "a"}, Stamp{2, "b"}
	if !early.Before(late) || late.Before(early) || !late.Before(other) || other.Before(late) || late.Before(late) {
		t.Fatal("stamps must be ordered by time, then by region")
	}
}
