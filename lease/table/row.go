package table

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
)

// Item is an item of the table, as the SDK represents it.
type Item = map[string]types.AttributeValue

// Row reads the protocol's attributes of an item. An empty item gives the zero Row.
func Row(item Item) (row lease.Row, err error) {
	get := func(name string) (n int64) {
		if _, there := item[name]; there && err == nil {
			n, err = Number(item, name)
		}
		return n
	}
	text := func(name string) string {
		v, ok := item[name]
		if !ok || err != nil {
			return ""
		}
		s, ok := v.(*types.AttributeValueMemberS)
		if !ok {
			err = fmt.Errorf("attribute %s is not a string", name)
			return ""
		}
		return s.Value
	}
	row = lease.Row{
		Version: get(Version), Expires: get(ExpiresMs), Owner: text(Owner), Holder: text(Holder), Available: get(AvailableMs),
		State: lease.State(text(State)), Resource: text(Resource), ResourceVersion: get(ResourceVersion), Winner: text(Winner),
		Granted: get(GrantedMs),
	}
	if err == nil && len(item) > 0 && row.Version < 1 {
		err = fmt.Errorf("attribute %s is missing or less than 1", Version)
	}
	return row, err
}

// Number returns an attribute that is an integer.
func Number(item Item, name string) (int64, error) {
	s, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("attribute %s is not a number", name)
	}
	n, err := strconv.ParseInt(s.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("attribute %s is %s, not a 64-bit integer", name, s.Value)
	}
	return n, nil
}

// S is a string as an attribute value.
func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// N is an integer as an attribute value.
func N(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// B is a boolean as an attribute value.
func B(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Bool returns a boolean attribute, false if it is absent.
func Bool(item Item, name string) bool {
	b, ok := item[name].(*types.AttributeValueMemberBOOL)
	return ok && b.Value
}

// Decimal is a number as an attribute value, in DynamoDB's notation.
func Decimal(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// PrimaryKey returns p as the key attributes of an item.
func PrimaryKey(p lease.PrimaryKey) Item { return Item{PK: S(p.Partition), SK: S(p.Sort)} }
