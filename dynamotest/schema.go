package dynamotest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// maxIndexes is the maximum number of indexes of a table.
const maxIndexes = 20

// maxTableName is the maximum length of the name of a table or an index.
const maxTableName = 255

// schemaNames returns a list of names in the form of DynamoDB's error texts.
func schemaNames(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

// checkLength checks the length of the name of a table.
func checkLength(name string) error {
	if len(name) < 3 || len(name) > maxTableName {
		return wire.Invalid("TableName must be at least 3 characters long and at most 255 characters long")
	}
	return nil
}

// checkKeySchema checks the keys of a table or an index against the attribute definitions.
func checkKeySchema(keys []table.KeyElement, defined []table.AttributeDefinition) error {
	if len(keys) == 0 {
		return missing("keySchema")
	}
	if len(keys) > 2 {
		return wire.Unsupported("a key of more than two attributes")
	}
	if len(keys) > len(defined) {
		return wire.Invalid("Invalid KeySchema: Some index key attribute have no definition")
	}
	var names, known []string
	for _, k := range keys {
		names = append(names, k.AttributeName)
	}
	for _, a := range defined {
		known = append(known, a.AttributeName)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return wire.InvalidParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: " + schemaNames(names) +
				", AttributeDefinitions: " + schemaNames(known))
		}
	}
	switch {
	case len(keys) == 2 && names[0] == names[1]:
		return wire.Invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	case keys[0].KeyType != "HASH":
		return wire.Invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(keys) == 2 && keys[1].KeyType != "RANGE":
		return wire.Invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	return nil
}

// checkIndex checks the definition of an index.
func checkIndex(x table.IndexDefinition, defined []table.AttributeDefinition) error {
	if err := checkKeySchema(x.KeySchema, defined); err != nil {
		return err
	}
	p := x.Projection
	switch {
	case p.ProjectionType == "":
		return wire.InvalidParameter("Unknown ProjectionType: null")
	case p.ProjectionType == "INCLUDE" && len(p.NonKeyAttributes) == 0:
		return wire.InvalidParameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.ProjectionType != "INCLUDE" && len(p.NonKeyAttributes) > 0:
		return wire.InvalidParameter("ProjectionType is " + p.ProjectionType + ", but NonKeyAttributes is specified")
	}
	return nil
}

// checkDefinition checks the definition of a new or changed table, whose values satisfy the rules
// for single values.
func checkDefinition(d *table.Definition) error {
	for i, a := range d.AttributeDefinitions {
		if slices.ContainsFunc(d.AttributeDefinitions[:i],
			func(b table.AttributeDefinition) bool { return b.AttributeName == a.AttributeName }) {
			return wire.InvalidParameter("Duplicate AttributeName in AttributeDefinitions: " + a.AttributeName)
		}
	}
	if err := checkKeySchema(d.KeySchema, d.AttributeDefinitions); err != nil {
		return err
	}
	if len(d.Indexes) > maxIndexes {
		return wire.InvalidParameter(fmt.Sprintf("GlobalSecondaryIndex count exceeds the per-table limit of %d", maxIndexes))
	}
	for i, x := range d.Indexes {
		if err := checkIndex(x, d.AttributeDefinitions); err != nil {
			return err
		}
		if slices.ContainsFunc(d.Indexes[:i], func(y table.IndexDefinition) bool { return y.IndexName == x.IndexName }) {
			return wire.InvalidParameter("Duplicate index name: " + x.IndexName)
		}
	}
	return checkAllUsed(d)
}

// checkAllUsed returns an error about an attribute definition that no key uses.
func checkAllUsed(d *table.Definition) error {
	var defined, used []string
	for _, k := range d.KeySchema {
		used = append(used, k.AttributeName)
	}
	for _, x := range d.Indexes {
		for _, k := range x.KeySchema {
			if !slices.Contains(used, k.AttributeName) {
				used = append(used, k.AttributeName)
			}
		}
	}
	for _, a := range d.AttributeDefinitions {
		defined = append(defined, a.AttributeName)
	}
	switch {
	case len(defined) == len(used):
		return nil
	case len(d.Indexes) == 0:
		return wire.InvalidParameter(
			"Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	default:
		return wire.InvalidParameter("Some AttributeDefinitions are not used. AttributeDefinitions: " + schemaNames(defined) +
			", keys used: " + schemaNames(used))
	}
}
