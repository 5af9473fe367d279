package item_test

import (
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// resource is a row of the lease table as the SDK sends it: the attributes are not sorted.
const resource = `{"version":{"N":"17"},"sk":{"S":"resource-000123"},"pk":{"S":"R#client#0042"},"pool_id":{"S":"pool-a"},` +
	`"owner_region":{"S":"eu-central-1"},"writer_region":{"S":"eu-central-1"},"holder":{"S":"user/123456789"},"lease_expires_ms":{"N":"1767225600000"},` +
	`"bucket":{"S":"client.pool-a.eu-central-1.7"},"leases_total":{"N":"123"},"req":{"S":"01JDXK3V8Q5W9ZJ4M7T2C6N8RF"}}`

func BenchmarkDecode(b *testing.B) {
	var d item.Decoder
	var s jsonscan.Scanner
	text := []byte(resource)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s.Reset(text)
		if _, err := d.Item(&s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	it := parse(b, resource)
	var buf []byte
	b.SetBytes(int64(len(resource)))
	b.ReportAllocs()
	for b.Loop() {
		buf = it.AppendJSON(buf[:0])
	}
}

func BenchmarkGet(b *testing.B) {
	it := parse(b, resource)
	for b.Loop() {
		if !it.Get("version").Exists() {
			b.Fatal("no version")
		}
	}
}

func BenchmarkWith(b *testing.B) {
	it, v := parse(b, resource), item.Int(18)
	b.ReportAllocs()
	for b.Loop() {
		it = it.With("version", v)
	}
}

func BenchmarkSize(b *testing.B) {
	it := parse(b, resource)
	for b.Loop() {
		if it.Size() == 0 {
			b.Fatal("no size")
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	x, one := num(b, "1767225600000"), item.Int(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := item.Add(x, one); err != nil {
			b.Fatal(err)
		}
	}
}
