package expr_test

import (
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
)

// The update that leases a resource: the second write of the lease protocol.
const (
	acquireIf = "attribute_exists(pk) AND version = :v AND lease_available_ms <= :now AND owner_region = :me"
	acquire   = "SET #key = :k, lease_expires_ms = :e, version = version + :one REMOVE lease_available_ms"
	row       = `{"version":{"N":"17"},"sk":{"S":"resource-000123"},"pk":{"S":"R#client#0042"},"pool_id":{"S":"pool-a"},` +
		`"owner_region":{"S":"eu-central-1"},"writer_region":{"S":"eu-central-1"},"lease_expires_ms":{"N":"1767225600000"},` +
		`"lease_available_ms":{"N":"1767225700000"},"bucket":{"S":"client.pool-a.eu-central-1.7"},"leases_total":{"N":"123"}}`
	rowValues = `{":v":{"N":"17"},":now":{"N":"1767225800000"},":me":{"S":"eu-central-1"},":k":{"S":"user/123456789"},":e":{"N":"1767229400000"},":one":{"N":"1"}}`
)

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expr.ParseCondition(acquireIf); err != nil {
			b.Fatal(err)
		}
		if _, err := expr.ParseUpdate(acquire); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate measures one conditional update with parsed expressions.
func BenchmarkUpdate(b *testing.B) {
	c, err := expr.ParseCondition(acquireIf)
	if err != nil {
		b.Fatal(err)
	}
	u, err := expr.ParseUpdate(acquire)
	if err != nil {
		b.Fatal(err)
	}
	names, values, it := expr.Names{"#key": "key"}, parse(b, rowValues), parse(b, row)
	b.ReportAllocs()
	for b.Loop() {
		change, err := u.Bind(names, values)
		if err != nil {
			b.Fatal(err)
		}
		test, err := c.Bind(names, values)
		if err != nil {
			b.Fatal(err)
		}
		if err := expr.CheckUnused(names, values, c.Refs(), u.Refs()); err != nil {
			b.Fatal(err)
		}
		if !test.Holds(it) {
			b.Fatal("the condition does not hold")
		}
		if _, err := change.Apply(it, item.Item{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFilter measures a filter on one item.
func BenchmarkFilter(b *testing.B) {
	test, err := condition("owner_region = :me and (contains(writer_region, :pool) or size(pool_id) > :n) and not attribute_exists(#k)",
		expr.Names{"#k": "key"}, parse(b, `{":me":{"S":"eu-central-1"},":pool":{"S":"pool-b"},":n":{"N":"3"}}`))
	if err != nil {
		b.Fatal(err)
	}
	it := parse(b, row)
	b.ReportAllocs()
	for b.Loop() {
		if !test.Holds(it) {
			b.Fatal("the filter does not hold")
		}
	}
}

func BenchmarkProjection(b *testing.B) {
	s, err := projection("pk, sk, version", nil)
	if err != nil {
		b.Fatal(err)
	}
	it := parse(b, row)
	b.ReportAllocs()
	for b.Loop() {
		s.Of(it)
	}
}
