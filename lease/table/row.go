package table

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
)

// Item is an item as the SDK has it.
type Item = map[string]types.AttributeValue

// Row reads what the protocol knows of a row. An item without the attributes is a row that is not there.
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
			err = fmt.Errorf("attribute %s is no string", name)
			return ""
		}
		return s.Value
	}
	row = lease.Row{
		Version: get(Version), Expires: get(Expires), Owner: text(Owner), Holder: text(Holder), Available: get(Available),
		State: lease.State(text(State)), Resource: text(Resource), ResourceVersion: get(ResourceVersion), Winner: text(Winner), Granted: get(GrantedAt),
	}
	if err == nil && len(item) > 0 && row.Version < 1 {
		err = fmt.Errorf("attribute %s is missing or less than 1", Version)
	}
	return row, err
}

// Number is an attribute that is a whole number.
func Number(item Item, name string) (int64, error) {
	s, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("attribute %s is no number", name)
	}
	n, err := strconv.ParseInt(s.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("attribute %s is %s, not a whole number of 64 bits", name, s.Value)
	}
	return n, nil
}

// S and N are attribute values.
func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// N is a number.
func N(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Decimal is a number that is written out.
func Decimal(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// PrimaryKey is p as an item's key.
func PrimaryKey(p lease.PrimaryKey) Item { return Item{PK: S(p.Partition), SK: S(p.Sort)} }
