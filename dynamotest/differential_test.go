package dynamotest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir/internal/dynoxide"
)

// TestDifferential sends random requests to this package and to another implementation, and
// compares the answers. DESIGN.md lists the permitted differences. WEIR_TEST_DIFF_REQUESTS is the
// number of requests, WEIR_TEST_DIFF_SEED their seed; WEIR_TEST_DIFF_ENDPOINT is an endpoint to use
// instead of a container.
func TestDifferential(t *testing.T) {
	other := dynoxide.Endpoint(t, "compare with it")
	c, _ := open(t, Config{})
	ours := target{c.regions[0].HTTPClient(), "http://ours"}
	theirs := target{http.DefaultClient, other}
	for _, create := range tables() {
		theirs.send(t, request{"DeleteTable", object{"TableName": create.params["TableName"]}})
		ours.send(t, create)
		if a := theirs.send(t, create); a.status != 200 {
			t.Fatal(a)
		}
	}
	seed := number(t, "WEIR_TEST_DIFF_SEED", 1)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	known, bad, fine := map[string]int{}, 0, 0
	for i := range number(t, "WEIR_TEST_DIFF_REQUESTS", 6000) {
		req := g.request()
		absent := req.operation == "UpdateItem" && ours.send(t, request{"GetItem", object{"TableName": req.params["TableName"], "Key": req.params["Key"]}}).body["Item"] == nil
		a, b := ours.send(t, req), theirs.send(t, req)
		if a.status == 200 && b.status == 200 {
			fine++
		}
		diff := compare(req, a, b)
		if absent && onlyRemoves(req) {
			realign(t, ours, theirs)
		}
		if diff == "" {
			continue
		}
		if why := excused(req, a, b, absent); why != "" {
			known[why]++
			realign(t, ours, theirs)
			continue
		}
		t.Errorf("request %d of seed %d: %s\nours:   %s\ntheirs: %s\n%s", i, seed, req, a, b, diff)
		if bad++; bad == 20 {
			t.FailNow()
		}
		realign(t, ours, theirs)
	}
	for _, why := range slices.Sorted(maps.Keys(known)) {
		t.Logf("%5d times: %s", known[why], why)
	}
	if total := number(t, "WEIR_TEST_DIFF_REQUESTS", 6000); fine < int(total)/2 {
		t.Errorf("only %d of %d requests succeeded: the generator makes too many invalid requests", fine, total)
	}
}

func number(t *testing.T, env string, otherwise uint64) uint64 {
	text := os.Getenv(env)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// target is an endpoint.
type target struct {
	client *http.Client
	url    string
}

// reply is an answer: the error's name and text, or the body.
type reply struct {
	status        int
	code, message string
	body          object
}

func (r reply) String() string {
	text, _ := json.Marshal(r.body)
	return fmt.Sprintf("%d %s", r.status, text)
}

func (e target) send(t *testing.T, req request) reply {
	t.Helper()
	text, err := json.Marshal(req.params)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", itemTarget+req.operation)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/eu-west-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	r.Header.Set("X-Amz-Date", "20260101T000000Z")
	resp, err := e.client.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", req, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := reply{status: resp.StatusCode}
	if err := json.Unmarshal(body, &out.body); err != nil {
		t.Fatalf("%s answers %q to %s", e.url, body, req)
	}
	if kind, ok := out.body["__type"].(string); ok {
		out.code = kind[strings.LastIndexByte(kind, '#')+1:]
		for _, key := range []string{"message", "Message"} {
			if m, ok := out.body[key].(string); ok {
				out.message = m
				delete(out.body, key)
			}
		}
		delete(out.body, "__type")
	}
	return out
}

// compare returns the difference of two answers, or "".
func compare(req request, a, b reply) string {
	if a.status != b.status || a.code != b.code {
		return fmt.Sprintf("%d %s: %s\n%d %s: %s", a.status, a.code, a.message, b.status, b.code, b.message)
	}
	if os.Getenv("WEIR_TEST_DIFF_MESSAGES") != "" && a.message != b.message {
		return "ours:   " + a.message + "\ntheirs: " + b.message
	}
	return cmp.Diff(normal(req, a.body), normal(req, b.body))
}

// normal returns the answer in a form that does not depend on undefined order: that of sets, and
// that of items without a sort key.
func normal(req request, body object) any {
	out := sortSets(body)
	o, ok := out.(object)
	if !ok {
		return out
	}
	if items, ok := o["Items"].([]any); ok && (req.operation == "Scan" || req.params["IndexName"] != nil) {
		sortJSON(items)
	}
	if tables, ok := o["Responses"].(object); ok {
		for _, items := range tables {
			if list, ok := items.([]any); ok {
				sortJSON(list)
			}
		}
	}
	if req.operation == "BatchExecuteStatement" {
		normalResponses(o)
	}
	if list, ok := o["ConsumedCapacity"].([]any); ok {
		sortJSON(list)
	}
	return out
}

// normalResponses removes from the answer to statements what DESIGN.md permits to differ: the texts
// of errors, the table of an invalid statement, and the capacity if a statement failed. It adds up
// the capacity of each table.
func normalResponses(answer object) {
	responses, _ := answer["Responses"].([]any)
	failed := false
	for _, r := range responses {
		response, ok := r.(object)
		if !ok {
			continue
		}
		if e, ok := response["Error"].(object); ok {
			if os.Getenv("WEIR_TEST_DIFF_MESSAGES") == "" {
				delete(e, "Message")
			}
			if e["Code"] == "ValidationError" {
				delete(response, "TableName")
			}
			failed = true
		}
	}
	list, ok := answer["ConsumedCapacity"].([]any)
	if failed || !ok {
		delete(answer, "ConsumedCapacity")
		return
	}
	units := object{}
	for _, c := range list {
		if used, ok := c.(object); ok {
			n, _ := units[fmt.Sprint(used["TableName"])].(float64)
			more, _ := used["CapacityUnits"].(float64)
			units[fmt.Sprint(used["TableName"])] = n + more
		}
	}
	answer["ConsumedCapacity"] = units
}

func sortJSON(items []any) {
	slices.SortFunc(items, func(a, b any) int {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return bytes.Compare(x, y)
	})
}

func sortSets(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			out[k] = sortSets(e)
			if list, ok := e.([]any); ok && (k == "SS" || k == "NS" || k == "BS") {
				list = slices.Clone(list)
				sortJSON(list)
				out[k] = list
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = sortSets(e)
		}
		return out
	default:
		return v
	}
}

// realign copies the items of this package to the other implementation.
func realign(t *testing.T, ours, theirs target) {
	t.Helper()
	for _, table := range []string{"both", "hash"} {
		want := items(t, ours, table)
		have := items(t, theirs, table)
		for key, it := range have {
			if want[key] == nil {
				k := object{"pk": it["pk"]}
				if table == "both" {
					k["sk"] = it["sk"]
				}
				theirs.send(t, request{"DeleteItem", object{"TableName": table, "Key": k}})
			}
		}
		for key, it := range want {
			if cmp.Diff(sortSets(it), sortSets(have[key])) != "" {
				theirs.send(t, request{"PutItem", object{"TableName": table, "Item": it}})
			}
		}
	}
}

func items(t *testing.T, e target, table string) map[string]object {
	t.Helper()
	out := map[string]object{}
	list, ok := e.send(t, request{"Scan", object{"TableName": table}}).body["Items"].([]any)
	if !ok {
		t.Fatalf("%s has no items", e.url)
	}
	for _, it := range list {
		if o, ok := it.(object); ok {
			out[fmt.Sprint(o["pk"], o["sk"])] = o
		}
	}
	return out
}

// excused returns why DESIGN.md permits the answers to differ, or "".
func excused(req request, a, b reply, absent bool) string {
	if a.code == "SerializationException" && b.code == "ValidationException" {
		return "an error in the JSON's shape precedes an error in a value"
	}
	if a.code == "ValidationException" && b.code != a.code {
		for part, why := range map[string]string{
			"The first operand must be distinct from the remaining operands": "a comparison of a path with itself is rejected",
			"Incorrect operand type for operator or function":                "types of operands are checked before the item",
			"Invalid attribute type name found":                              "the type of attribute_type is checked before the item",
			"Key attributes must be scalars":                                 "a path inside a key attribute is rejected",
			"This attribute is part of the key":                              "an update of a key is rejected before the condition",
			"Two document paths overlap":                                     "paths that overlap are rejected before the table is looked up",
			"Two document paths conflict":                                    "paths that treat one attribute as a map and as a list are rejected",
			"may not be empty":                                               "an empty set is rejected at any depth",
			"duplicates":                                                     "duplicates in a set are rejected at any depth",
			"The BETWEEN operator requires":                                  "the bounds of BETWEEN are checked before the item and the table",
		} {
			if strings.Contains(a.message, part) {
				return why
			}
		}
	}
	if req.operation == "BatchExecuteStatement" {
		switch text := fmt.Sprint(a.body); {
		case strings.Contains(text, "at 'tableName' failed to satisfy"):
			return "a name that no table can have is a ValidationException"
		case a.status == 200 && b.code == "ValidationException" && strings.Contains(text, b.message):
			return "an error in a parameter's value concerns its statement alone"
		case b.status == 200 && strings.Contains(text, "expected a value, got x"):
			return "a bare word is rejected as a value before the table is looked up"
		}
	}
	returns, update := req.params["ReturnValues"], fmt.Sprint(req.params["UpdateExpression"])
	switch {
	case absent && strings.Contains(update, "REMOVE") && a.status == 200 && strings.Contains(b.message, "The document path provided in the update expression is invalid for update"):
		return "REMOVE of any path of an item that does not exist succeeds"
	case absent && onlyRemoves(req) && a.status == 200:
		return "an update that only removes creates no item"
	case absent && returns == "ALL_OLD" && a.status == 200 && b.status == 200 && a.body["Attributes"] == nil:
		return "ALL_OLD of an item that did not exist is empty"
	case req.operation == "UpdateItem" && (returns == "UPDATED_OLD" || returns == "UPDATED_NEW") && a.status == 200 && b.status == 200:
		return "UPDATED_OLD and UPDATED_NEW of a list have only the elements that the update names"
	default:
		return ""
	}
}

// onlyRemoves reports whether the request is an update with REMOVE and DELETE actions only.
func onlyRemoves(req request) bool {
	text, _ := req.params["UpdateExpression"].(string)
	return (strings.HasPrefix(text, "REMOVE ") || strings.HasPrefix(text, "DELETE ")) && !strings.Contains(text, "SET ") && !strings.Contains(text, "ADD ")
}
