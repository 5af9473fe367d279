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

// checkTableName checks the name of a new table or index.
func checkTableName(kind, name string) error {
	if len(name) < 3 || len(name) > maxTableName || !validName(name) {
		return wire.Invalid(kind + " must be at least 3 characters long and at most 255 characters long, and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.'")
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
	var names, known []string
	for _, k := range keys {
		if k.KeyType != "HASH" && k.KeyType != "RANGE" {
			return wire.Invalid("1 validation error detected: Value '" + k.KeyType + "' at 'keySchema.1.member.keyType' failed to satisfy constraint: Member must satisfy enum value set: [HASH, RANGE]")
		}
		names = append(names, k.AttributeName)
	}
	switch {
	case keys[0].KeyType != "HASH":
		return wire.InvalidParameter("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(keys) == 2 && keys[1].KeyType != "RANGE":
		return wire.InvalidParameter("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	case len(keys) == 2 && names[0] == names[1]:
		return wire.InvalidParameter("Invalid KeySchema: Some index key attribute have no definition")
	}
	for _, a := range defined {
		known = append(known, a.AttributeName)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return wire.InvalidParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: " + schemaNames(names) + ", AttributeDefinitions: " + schemaNames(known))
		}
	}
	return nil
}

// checkIndex checks the definition of an index.
func checkIndex(x table.IndexDefinition, defined []table.AttributeDefinition) error {
	if err := checkTableName("IndexName", x.IndexName); err != nil {
		return err
	}
	if err := checkKeySchema(x.KeySchema, defined); err != nil {
		return err
	}
	p := x.Projection
	switch {
	case p.ProjectionType == "":
		return wire.InvalidParameter("Unknown ProjectionType: null")
	case !slices.Contains([]string{"ALL", "KEYS_ONLY", "INCLUDE"}, p.ProjectionType):
		return wire.Invalid("1 validation error detected: Value '" + p.ProjectionType + "' at 'globalSecondaryIndexes.1.member.projection.projectionType' failed to satisfy constraint: Member must satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]")
	case p.ProjectionType == "INCLUDE" && len(p.NonKeyAttributes) == 0:
		return wire.InvalidParameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.ProjectionType != "INCLUDE" && len(p.NonKeyAttributes) > 0:
		return wire.InvalidParameter("ProjectionType is " + p.ProjectionType + ", but NonKeyAttributes is specified")
	}
	return nil
}

// checkDefinition checks the definition of a new or changed table.
func checkDefinition(d *table.Definition) error {
	if err := checkTableName("TableName", d.TableName); err != nil {
		return err
	}
	for i, a := range d.AttributeDefinitions {
		if !slices.Contains([]string{"S", "N", "B"}, a.AttributeType) {
			return wire.Invalid(fmt.Sprintf("1 validation error detected: Value '%s' at 'attributeDefinitions.%d.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]", a.AttributeType, i+1))
		}
		if slices.ContainsFunc(d.AttributeDefinitions[:i], func(b table.AttributeDefinition) bool { return b.AttributeName == a.AttributeName }) {
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
		return wire.InvalidParameter("Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	default:
		return wire.InvalidParameter("Some AttributeDefinitions are not used. AttributeDefinitions: " + schemaNames(defined) + ", keys used: " + schemaNames(used))
	}
}
