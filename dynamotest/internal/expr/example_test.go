package expr_test

import (
	"fmt"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
)

// A conditional update, as UpdateItem carries it out.
func Example() {
	old := item.Of(
		item.Attr{Name: "pk", Value: item.Str("resource")},
		item.Attr{Name: "version", Value: item.Int(7)},
		item.Attr{Name: "lease_available", Value: item.Int(1000)},
	)
	names := expr.Names{"#k": "key"}
	values := item.Of(item.Attr{Name: ":v", Value: item.Int(7)}, item.Attr{Name: ":k", Value: item.Str("user/1")}, item.Attr{Name: ":one", Value: item.Int(1)})

	update, err := expr.ParseUpdate("SET #k = :k, version = version + :one REMOVE lease_available")
	if err != nil {
		fmt.Println(err)
		return
	}
	change, err := update.Bind(names, values)
	if err != nil {
		fmt.Println(err)
		return
	}
	condition, err := expr.ParseCondition("attribute_exists(pk) AND version = :v")
	if err != nil {
		fmt.Println(err)
		return
	}
	test, err := condition.Bind(names, values)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := expr.CheckUnused(names, values, update.Refs(), condition.Refs()); err != nil {
		fmt.Println(err)
		return
	}

	if test.Holds(old) {
		after, err := change.Apply(old, old.Only("pk"))
		fmt.Println(after, err)
		fmt.Println("UPDATED_OLD", change.Touched().Of(old))
		fmt.Println("UPDATED_NEW", change.Touched().Of(after))
	}
	// Output:
	// {"key":{"S":"user/1"},"pk":{"S":"resource"},"version":{"N":"8"}} <nil>
	// UPDATED_OLD {"lease_available":{"N":"1000"},"version":{"N":"7"}}
	// UPDATED_NEW {"key":{"S":"user/1"},"version":{"N":"8"}}
}

// A query's key condition becomes a range of a sorted store.
func ExampleKeys_Range() {
	parsed, err := expr.ParseKey("pk = :p AND begins_with(sk, :s)")
	if err != nil {
		fmt.Println(err)
		return
	}
	keys, err := parsed.Bind(nil, item.Of(item.Attr{Name: ":p", Value: item.Str("pool")}, item.Attr{Name: ":s", Value: item.Str("eu-")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := keys.Range(expr.KeyAttr{Name: "pk", Kind: item.S}, expr.KeyAttr{Name: "sk", Kind: item.S})
	fmt.Printf("%s from %q to %q %v\n", r.Hash, r.Lo, r.Hi, err)
	for _, sk := range []string{"ap-south-1", "eu-central-1", "eu-west-1", "us-east-1"} {
		fmt.Println(sk, r.Contains(item.AppendKey(nil, item.Str(sk))))
	}
	// Output:
	// {"S":"pool"} from "eu-" to "eu." <nil>
	// ap-south-1 false
	// eu-central-1 true
	// eu-west-1 true
	// us-east-1 false
}
