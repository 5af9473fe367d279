package dynamotest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes random requests about a few items of two tables. Most of the requests are valid.
type generator struct {
	*rand.Rand
	names  map[string]string
	values map[string]any
}

type object = map[string]any

// request is one operation and its parameters.
type request struct {
	operation string
	params    object
}

func (r request) String() string {
	text, _ := json.Marshal(r.params)
	return r.operation + " " + string(text)
}

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// tables returns the requests that create the tables: "both" with a number as sort key and two
// indexes, "hash" without a sort key.
func tables() []request {
	attr := func(name, kind string) object { return object{"AttributeName": name, "AttributeType": kind} }
	keys := func(names ...string) []object {
		out := []object{{"AttributeName": names[0], "KeyType": "HASH"}}
		if len(names) > 1 {
			out = append(out, object{"AttributeName": names[1], "KeyType": "RANGE"})
		}
		return out
	}
	return []request{
		{"CreateTable", object{
			"TableName": "both", "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("pk", "sk"),
			"AttributeDefinitions": []object{attr("pk", "S"), attr("sk", "N"), attr("a", "S"), attr("b", "N")},
			"GlobalSecondaryIndexes": []object{
				{"IndexName": "all", "KeySchema": keys("a", "b"), "Projection": object{"ProjectionType": "ALL"}},
				{"IndexName": "some", "KeySchema": keys("b"), "Projection": object{"ProjectionType": "INCLUDE", "NonKeyAttributes": []string{"c"}}},
			},
		}},
		{"CreateTable", object{
			"TableName": "hash", "BillingMode": "PAY_PER_REQUEST", "KeySchema": keys("pk"),
			"AttributeDefinitions": []object{attr("pk", "S")},
		}},
	}
}

func (g *generator) request() request {
	g.names, g.values = map[string]string{}, map[string]any{}
	table := pick(g, "both", "both", "hash")
	if g.chance(1) {
		table = pick(g, "none", "a!", "")
	}
	p := object{"TableName": table}
	op := pick(g, "GetItem", "PutItem", "PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "DeleteItem", "Query", "Query", "Scan", "BatchGetItem", "BatchWriteItem", "BatchExecuteStatement")
	switch op {
	case "GetItem":
		p["Key"] = g.key(table)
		g.maybe(p, 30, "ProjectionExpression", g.projection)
		if g.chance(30) {
			p["ConsistentRead"] = true
		}
	case "PutItem":
		p["Item"] = g.item(table)
		g.maybe(p, 40, "ConditionExpression", func() string { return g.condition(2) })
	case "DeleteItem":
		p["Key"] = g.key(table)
		g.maybe(p, 40, "ConditionExpression", func() string { return g.condition(2) })
	case "UpdateItem":
		p["Key"] = g.key(table)
		g.maybe(p, 95, "UpdateExpression", g.update)
		g.maybe(p, 25, "ConditionExpression", func() string { return g.condition(2) })
	case "Query", "Scan":
		g.search(op, table, p)
	case "BatchGetItem":
		p = object{"RequestItems": g.gets()}
	case "BatchWriteItem":
		p = object{"RequestItems": g.writes()}
	case "BatchExecuteStatement":
		p = object{"Statements": g.inserts()}
	}
	if op == "PutItem" || op == "DeleteItem" || op == "UpdateItem" {
		g.returns(op, p)
	}
	if g.chance(20) {
		p["ReturnConsumedCapacity"] = pick(g, "TOTAL", "INDEXES", "NONE")
	}
	batch := strings.HasPrefix(op, "Batch")
	if len(g.names) > 0 || !batch && g.chance(1) {
		p["ExpressionAttributeNames"] = g.names
	}
	if len(g.values) > 0 || !batch && op != "GetItem" && g.chance(1) {
		p["ExpressionAttributeValues"] = g.values
	}
	return request{op, p}
}

func (g *generator) maybe(p object, percent int, name string, text func() string) {
	if g.chance(percent) {
		p[name] = text()
	}
}

func (g *generator) returns(op string, p object) {
	if g.chance(50) {
		p["ReturnValues"] = "ALL_OLD"
		if op == "UpdateItem" {
			p["ReturnValues"] = pick(g, "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW", "NONE")
		}
		if g.chance(2) {
			p["ReturnValues"] = pick(g, "ALL_NEW", "X")
		}
	}
	if g.chance(30) {
		p["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
	}
}

func (g *generator) search(op, table string, p object) {
	index := ""
	if table == "both" && g.chance(50) {
		index = pick(g, "all", "all", "some")
		if g.chance(2) {
			index = "nope"
		}
		p["IndexName"] = index
	}
	if op == "Query" {
		p["KeyConditionExpression"] = g.keyCondition(table, index)
		if g.chance(50) {
			p["ScanIndexForward"] = g.chance(50)
		}
	} else if g.chance(30) {
		p["TotalSegments"] = 1
		p["Segment"] = 0
		if g.chance(5) {
			p["Segment"] = pick(g, 7, -1)
		}
	}
	g.maybe(p, 40, "FilterExpression", func() string { return g.condition(2) })
	g.maybe(p, 25, "ProjectionExpression", g.projection)
	if g.chance(10) {
		p["Select"] = pick(g, "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES")
	}
	if g.chance(5) {
		p["ConsistentRead"] = true
	}
	if op == "Query" && index == "" && g.chance(30) { // the order of other answers is not defined
		p["Limit"] = g.IntN(4)
	}
}

func (g *generator) keyCondition(table, index string) string {
	hash, hashValue, sort, sortValue := "pk", g.pk(), "sk", g.sk
	switch {
	case index == "all":
		hash, hashValue, sort, sortValue = "a", g.text(), "b", g.number
	case index == "some":
		hash, hashValue, sort = "b", g.number(), "none"
	case table == "hash":
		sort = "none"
	}
	if g.chance(4) {
		hash, hashValue = pick(g, "pk", "sk", "zz"), g.value(0)
	}
	cond := g.name(hash) + " = " + g.let(hashValue)
	if sort == "none" && !g.chance(3) || g.chance(40) {
		return cond
	}
	name := g.name(sort)
	switch g.IntN(8) {
	case 0:
		return cond + " AND " + name + " BETWEEN " + g.let(sortValue()) + " AND " + g.let(sortValue())
	case 1:
		return cond + " AND begins_with(" + name + ", " + g.let(sortValue()) + ")"
	default:
		return name + " " + pick(g, "=", "<", "<=", ">", ">=", "<>") + " " + g.let(sortValue()) + " AND " + cond
	}
}

func (g *generator) gets() object {
	out := object{}
	for _, table := range [][]string{{"both"}, {"hash"}, {"both", "hash"}}[g.IntN(3)] {
		var keys []object
		for range g.IntN(4) + g.IntN(2) {
			keys = append(keys, g.key(table))
		}
		out[table] = object{"Keys": keys}
	}
	return out
}

func (g *generator) writes() object {
	var writes []object
	for range 1 + g.IntN(4) {
		if g.chance(60) {
			writes = append(writes, object{"PutRequest": object{"Item": g.item("both")}})
		} else {
			writes = append(writes, object{"DeleteRequest": object{"Key": g.key("both")}})
		}
	}
	return object{"both": writes}
}

// inserts returns INSERT statements, some of them for items that may exist.
func (g *generator) inserts() []object {
	var statements []object
	for range 1 + g.IntN(4) {
		table := pick(g, "both", "both", "hash")
		it := g.item(table)
		if g.chance(60) { // otherwise nearly all of them would be duplicates
			it["pk"] = object{"S": fmt.Sprintf("i%d", g.IntN(40))}
		}
		if g.chance(3) {
			table = pick(g, "none", "a!")
		}
		if g.chance(2) {
			delete(it, pick(g, "pk", "sk"))
		}
		text, params := g.insert(table, it)
		statement := object{"Statement": text}
		if len(params) > 0 {
			statement["Parameters"] = params
		}
		if g.chance(20) {
			statement["ReturnValuesOnConditionCheckFailure"] = pick(g, "ALL_OLD", "NONE")
		}
		statements = append(statements, statement)
	}
	return statements
}

// insert returns the statement that inserts the item, with some values as parameters.
func (g *generator) insert(table string, it object) (text string, params []any) {
	var attrs []string
	for _, name := range slices.Sorted(maps.Keys(it)) {
		value, ok := literal(it[name])
		if !ok || g.chance(60) {
			value, params = "?", append(params, it[name])
		}
		attrs = append(attrs, "'"+name+"'"+pick(g, ":", ": ")+value)
	}
	if g.chance(2) && len(params) > 0 {
		params = params[1:]
	}
	if g.chance(60) || table == "a!" {
		table = `"` + table + `"`
	}
	return pick(g, "INSERT INTO ", "insert  into ") + table + pick(g, " VALUE ", " value", "\nValue ") + "{" + strings.Join(attrs, ", ") + "}" + pick(g, "", "", ";"), params
}

// literal returns the value as a PartiQL literal. ok is false if only a parameter can have the
// value.
func literal(v any) (text string, ok bool) {
	o, isValue := v.(object)
	if !isValue || len(o) != 1 {
		return "", false
	}
	all := func(list []any) ([]string, bool) {
		var texts []string
		for _, e := range list {
			text, ok := literal(e)
			if !ok {
				return nil, false
			}
			texts = append(texts, text)
		}
		return texts, true
	}
	for kind, content := range o {
		switch content := content.(type) {
		case string:
			if kind == "N" {
				return content, true
			}
			return "'" + strings.ReplaceAll(content, "'", "''") + "'", kind == "S"
		case bool:
			if kind == "NULL" {
				return "null", content
			}
			return fmt.Sprint(content), true
		case []string:
			if kind == "SS" {
				return "<<'" + strings.Join(content, "', '") + "'>>", len(content) > 0
			}
			return "<<" + strings.Join(content, ", ") + ">>", len(content) > 0
		case []any:
			texts, ok := all(content)
			return "[" + strings.Join(texts, ", ") + "]", ok
		case object:
			var texts []string
			for _, name := range slices.Sorted(maps.Keys(content)) {
				text, ok := literal(content[name])
				if !ok {
					return "", false
				}
				texts = append(texts, "'"+name+"': "+text)
			}
			return "{" + strings.Join(texts, ", ") + "}", true
		}
	}
	return "", false
}

func (g *generator) pk() object { return object{"S": pick(g, "p", "q", "r")} }

func (g *generator) sk() object { return object{"N": pick(g, "0", "1", "-1", "10", "2.5")} }

func (g *generator) key(table string) object {
	k := object{"pk": g.pk()}
	if table == "both" {
		k["sk"] = g.sk()
	}
	if g.chance(3) {
		k[pick(g, "pk", "sk", "a")] = g.value(0)
	}
	return k
}

func (g *generator) item(table string) object {
	it := g.key(table)
	for range g.IntN(6) {
		name := g.attribute()
		it[name] = g.valueFor(name)
	}
	return it
}

func (g *generator) attribute() string {
	return pick(g, "a", "b", "c", "d", "l", "m", "ss", "ns", "size", "x.y")
}

// valueFor returns a value, usually of the kind that the attribute has in most items.
func (g *generator) valueFor(name string) object {
	if g.chance(6) {
		return g.value(1)
	}
	switch name {
	case "a":
		return g.text()
	case "b", "c":
		return g.number()
	case "l":
		return object{"L": []any{g.value(1), g.value(0)}}
	case "m":
		return object{"M": object{"x": g.value(1), "y": g.value(0)}}
	case "ss":
		return g.set("SS")
	case "ns":
		return g.set("NS")
	default:
		return g.value(2)
	}
}

func (g *generator) text() object { return object{"S": pick(g, "x", "xy", "y", "Z", "ä", "x\u0000")} }

func (g *generator) number() object {
	return object{"N": pick(g, "0", "1", "-1", "2", "10", "0.5", "-3.25", "1e3", "100", "12345678901234567890123456789012345678", "9.99e125", "1e-130", "007", "5.0")}
}

func (g *generator) set(kind string) object {
	n := 1 + g.IntN(3)
	from := []string{"x", "y", "z", "w"}
	if kind == "NS" {
		from = []string{"1", "2", "3.5", "-4"}
	}
	g.Shuffle(4, func(i, j int) { from[i], from[j] = from[j], from[i] })
	if g.chance(2) {
		return object{kind: []string{from[0], from[0]}}
	}
	return object{kind: from[:n]}
}

func (g *generator) value(depth int) object {
	if g.chance(1) {
		return pick(g, object{"S": ""}, object{"N": "x"}, object{"N": "1e126"}, object{"NULL": false}, object{}, object{"SS": []string{}}, object{"B": "YQ"}, object{"S": 5})
	}
	kinds := 7
	if depth > 0 {
		kinds = 9
	}
	switch g.IntN(kinds) {
	case 0:
		return object{"BOOL": g.chance(50)}
	case 1:
		return object{"NULL": true}
	case 2:
		return object{"B": pick(g, "YQ==", "YWI=", "")}
	case 3:
		return g.set(pick(g, "SS", "NS"))
	case 4:
		return g.text()
	case 5, 6:
		return g.number()
	case 7:
		return object{"L": []any{g.value(depth - 1), g.value(0)}[:g.IntN(3)]}
	default:
		return object{"M": object{"x": g.value(depth - 1), "y": g.value(0)}}
	}
}

// let returns a placeholder for a value.
func (g *generator) let(v any) string {
	name := fmt.Sprintf(":v%d", len(g.values))
	g.values[name] = v
	return name
}

// name returns an attribute's name as an expression contains it.
func (g *generator) name(attribute string) string {
	reserved := attribute == "size" || strings.Contains(attribute, ".")
	if reserved && !g.chance(2) || g.chance(30) {
		n := fmt.Sprintf("#n%d", len(g.names))
		g.names[n] = attribute
		return n
	}
	return attribute
}

func (g *generator) path() string {
	name := g.attribute()
	if g.chance(3) {
		name = pick(g, "pk", "sk")
	}
	path := g.name(name)
	switch {
	case name == "l" && g.chance(60):
		path += fmt.Sprintf("[%d]", g.IntN(3))
	case name == "m" && g.chance(60):
		path += pick(g, ".x", ".y", ".z")
	}
	if g.chance(8) {
		path += pick(g, ".x", "[0]", ".y[1]")
	}
	return path
}

func (g *generator) operand() string {
	switch g.IntN(10) {
	case 0:
		return "size(" + g.path() + ")"
	case 1, 2, 3, 4:
		return g.path()
	default:
		return g.let(g.valueFor(g.attribute()))
	}
}

func (g *generator) condition(depth int) string {
	if depth > 0 && g.chance(35) {
		switch g.IntN(4) {
		case 0:
			return "NOT " + g.condition(depth-1)
		case 1:
			return "(" + g.condition(depth-1) + ")"
		default:
			return g.condition(depth-1) + pick(g, " AND ", " OR ", " and ") + g.condition(depth-1)
		}
	}
	switch g.IntN(10) {
	case 0:
		return "attribute_exists(" + g.path() + ")"
	case 1:
		return "attribute_not_exists(" + g.path() + ")"
	case 2:
		return "attribute_type(" + g.path() + ", " + g.let(object{"S": pick(g, "S", "N", "L", "M", "SS", "NULL", "BOOL", "Q")}) + ")"
	case 3:
		return "begins_with(" + g.path() + ", " + g.let(g.text()) + ")"
	case 4:
		return "contains(" + g.path() + ", " + g.operand() + ")"
	case 5:
		return g.operand() + " BETWEEN " + g.operand() + " AND " + g.operand()
	case 6:
		return g.operand() + " IN (" + g.operand() + ", " + g.operand() + ")"
	default:
		return g.operand() + " " + pick(g, "=", "<>", "<", "<=", ">", ">=") + " " + g.operand()
	}
}

func (g *generator) projection() string {
	var paths []string
	for range 1 + g.IntN(3) {
		paths = append(paths, g.path())
	}
	return strings.Join(paths, ", ")
}

func (g *generator) update() string {
	var clauses []string
	order := g.Perm(4)
	for _, kind := range order[:1+g.IntN(2)] {
		var actions []string
		for range 1 + g.IntN(2) {
			actions = append(actions, g.action(kind))
		}
		clauses = append(clauses, pick(g, "SET ", "set ")[:0]+[]string{"SET ", "REMOVE ", "ADD ", "DELETE "}[kind]+strings.Join(actions, ", "))
	}
	return strings.Join(clauses, " ")
}

func (g *generator) action(kind int) string {
	switch kind {
	case 0:
		return g.path() + " = " + g.assigned()
	case 1:
		return g.path()
	case 2:
		name := pick(g, "b", "c", "ns", "ss", "d")
		v := g.number()
		if strings.HasSuffix(name, "s") {
			v = g.set(strings.ToUpper(name))
		}
		return g.name(name) + " " + g.let(v)
	default:
		name := pick(g, "ns", "ss", "ss", "d")
		kind := "SS"
		if name == "ns" {
			kind = "NS"
		}
		return g.name(name) + " " + g.let(g.set(kind))
	}
}

func (g *generator) assigned() string {
	operand := func() string {
		switch g.IntN(3) {
		case 0:
			return g.path()
		case 1:
			return "if_not_exists(" + g.path() + ", " + g.let(g.number()) + ")"
		default:
			return g.let(g.number())
		}
	}
	switch g.IntN(6) {
	case 0:
		return operand() + pick(g, " + ", " - ") + operand()
	case 1:
		return "list_append(" + pick(g, "l", g.path()) + ", " + g.let(object{"L": []any{g.value(0)}}) + ")"
	case 2:
		return operand()
	default:
		return g.let(g.valueFor(g.attribute()))
	}
}
