package expr

import (
	"slices"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Names are the ExpressionAttributeNames of a request: the attribute's name for each "#n".
type Names map[string]string

// Refs are the placeholders of an expression, each once.
type Refs struct {
	Names  []string // "#n"
	Values []string // ":v"
}

// CheckNames checks the ExpressionAttributeNames of a request that has the parameter.
func CheckNames(names Names) error {
	if len(names) == 0 {
		return item.Invalid("ExpressionAttributeNames must not be empty")
	}
	bad, found := "", false
	for name := range names {
		if !placeholder(name, '#') && (!found || name < bad) {
			bad, found = name, true
		}
	}
	if found {
		return item.Invalid(`ExpressionAttributeNames contains invalid key: Syntax error; key: "` + bad + `"`)
	}
	return nil
}

// CheckValues checks the names in the ExpressionAttributeValues of a request that has the
// parameter.
func CheckValues(values item.Item) error {
	if values.Len() == 0 {
		return item.Invalid("ExpressionAttributeValues must not be empty")
	}
	for name := range values.All() {
		if !placeholder(name, ':') {
			return item.Invalid(`ExpressionAttributeValues contains invalid key: Syntax error; key: "` + name + `"`)
		}
	}
	return nil
}

func placeholder(name string, first byte) bool {
	return len(name) > 1 && name[0] == first && wordEnd(name, 1) == len(name)
}

// CheckUnused returns an error about names and values that no expression of the request uses.
func CheckUnused(names Names, values item.Item, used ...Refs) error {
	var unused []string
	for name := range names {
		if !slices.ContainsFunc(used, func(r Refs) bool { return slices.Contains(r.Names, name) }) {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		slices.Sort(unused)
		return item.Invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {" + strings.Join(unused, ", ") + "}")
	}
	for name := range values.All() {
		if !slices.ContainsFunc(used, func(r Refs) bool { return slices.Contains(r.Values, name) }) {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		return item.Invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {" + strings.Join(unused, ", ") + "}")
	}
	return nil
}
