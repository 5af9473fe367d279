package dynamotest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// constraints collects the values of a request that a rule for single values rejects. DynamoDB
// reports them together, before it compares values with each other.
type constraints []string

// maxConstraints is the maximum number of values that an error text names.
const maxConstraints = 10

// violated adds a value at a place, such as keySchema.1.member.keyType.
func (c *constraints) violated(value, at, rule string) {
	*c = append(*c, "Value "+value+" at '"+at+"' failed to satisfy constraint: Member must "+rule)
}

// err returns the error about the values; nil if no value is wrong.
func (c constraints) err() error {
	if len(c) == 0 {
		return nil
	}
	c = c[:min(len(c), maxConstraints)]
	count := "1 validation error"
	if len(c) > 1 {
		count = strconv.Itoa(len(c)) + " validation errors"
	}
	return wire.Invalid(count + " detected: " + strings.Join(c, "; "))
}

// required adds a value that is absent.
func (c *constraints) required(given bool, at string) {
	if !given {
		c.violated("null", at, "not be null")
	}
}

// oneOf adds a value that is given and is not in set, DynamoDB's list of the values:
// "[ALL_OLD, NONE]".
func (c *constraints) oneOf(t wire.Text, at, set string) {
	if t.Given && !slices.Contains(strings.Split(strings.Trim(set, "[]"), ", "), t.Value) {
		c.violated("'"+t.Value+"'", at, "satisfy enum value set: "+set)
	}
}

// requiredOf adds a value that is absent or not in set.
func (c *constraints) requiredOf(value, at, set string) {
	c.required(value != "", at)
	c.oneOf(optional(value), at, set)
}

// optional is the value of a parameter that is absent if it is empty.
func optional(value string) wire.Text { return wire.Text{Value: value, Given: value != ""} }

// longEnough adds a value that is written as text, and has fewer than least parts or characters.
func (c *constraints) longEnough(n, least int, text, at string) {
	if n < least {
		c.violated("'"+text+"'", at, "have length greater than or equal to "+strconv.Itoa(least))
	}
}

// shortEnough is longEnough for more than most parts.
func (c *constraints) shortEnough(n, most int, text, at string) {
	if n > most {
		c.violated("'"+text+"'", at, "have length less than or equal to "+strconv.Itoa(most))
	}
}

// atLeastOne adds a number that is given and below 1.
func (c *constraints) atLeastOne(n wire.Number, at string) {
	if n.Given && n.Value < 1 {
		c.violated("'"+strconv.FormatInt(n.Value, 10)+"'", at, "have value greater than or equal to 1")
	}
}

// name adds the name of a table or an index that has other characters.
func (c *constraints) name(name, at string) {
	if !validName(name) {
		c.violated("'"+name+"'", at, "satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
}

// capacity adds ReturnConsumedCapacity.
func (c *constraints) capacity(t wire.Text) {
	c.oneOf(t, "returnConsumedCapacity", "[INDEXES, TOTAL, NONE]")
}

// metrics adds ReturnItemCollectionMetrics.
func (c *constraints) metrics(t wire.Text) {
	c.oneOf(t, "returnItemCollectionMetrics", "[SIZE, NONE]")
}

// onFailure adds ReturnValuesOnConditionCheckFailure of a request or a statement.
func (c *constraints) onFailure(t wire.Text, at string) {
	c.oneOf(t, at+"returnValuesOnConditionCheckFailure", "[ALL_OLD, NONE]")
}

// requestItems adds RequestItems of a batch, which has n tables.
func (c *constraints) requestItems(q *wire.Request, n int) {
	if c.required(q.RequestItems, "requestItems"); q.RequestItems {
		c.longEnough(n, 1, "{}", "requestItems")
	}
}

// attributes adds AttributeDefinitions.
func (c *constraints) attributes(list []table.AttributeDefinition) {
	for i, a := range list {
		at := fmt.Sprintf("attributeDefinitions.%d.member.", i+1)
		c.required(a.AttributeName != "", at+"attributeName")
		c.requiredOf(a.AttributeType, at+"attributeType", "[B, N, S]")
	}
}

// keys adds the KeySchema of a table or an index.
func (c *constraints) keys(list []table.KeyElement, at string) {
	for i, k := range list {
		at := fmt.Sprintf("%skeySchema.%d.member.", at, i+1)
		c.required(k.AttributeName != "", at+"attributeName")
		c.requiredOf(k.KeyType, at+"keyType", "[HASH, RANGE]")
	}
}

// index adds the definition of an index.
func (c *constraints) index(x *table.IndexDefinition, at string) {
	c.oneOf(optional(x.Projection.ProjectionType), at+"projection.projectionType", "[ALL, INCLUDE, KEYS_ONLY]")
	c.name(x.IndexName, at+"indexName")
	c.longEnough(len(x.IndexName), 3, x.IndexName, at+"indexName")
	c.shortEnough(len(x.IndexName), maxTableName, x.IndexName, at+"indexName")
	c.keys(x.KeySchema, at)
}

// stream adds StreamSpecification.
func (c *constraints) stream(s *streamSpecification) {
	if s != nil {
		c.oneOf(optional(s.StreamViewType), "streamSpecification.streamViewType", "[NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY]")
	}
}
