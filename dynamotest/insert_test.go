package dynamotest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// statement returns an INSERT with parameters.
func statement(text string, params ...types.AttributeValue) types.BatchStatementRequest {
	return types.BatchStatementRequest{Statement: aws.String(text), Parameters: params}
}

// insertAll sends the statements. It returns the outcome of each, "ok" or the code of its error.
func insertAll(t *testing.T, db *dynamodb.Client, statements ...types.BatchStatementRequest) (ends []string, out *dynamodb.BatchExecuteStatementOutput) {
	t.Helper()
	out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: statements, ReturnConsumedCapacity: "INDEXES"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Responses {
		end := "ok"
		if r.Error != nil {
			end = string(r.Error.Code)
		}
		ends = append(ends, end)
	}
	return ends, out
}

const byParams = `INSERT INTO "leases" VALUE {'pk': ?, 'sk': ?, 'v': ?}`

// TestInsertsSucceedOrFailAlone: some statements fail, each with its own error, and the others take
// effect.
func TestInsertsSucceedOrFailAlone(t *testing.T) {
	_, db := open(t, Config{})
	create(t, db)
	put(t.Context(), t, db, m{"pk": s("old"), "sk": s("0"), "v": s("first")})
	deep := types.AttributeValue(&types.AttributeValueMemberM{Value: m{"x": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "y": &types.AttributeValueMemberL{Value: []types.AttributeValue{n("1")}}}})
	old := statement(byParams, s("old"), s("0"), s("second"))
	old.ReturnValuesOnConditionCheckFailure = "ALL_OLD"
	ends, out := insertAll(
		t, db,
		statement(byParams, s("new"), s("0"), deep),
		old,
		statement(`insert into leases value {'pk': 'literal', 'sk': 'it''s', 'v': [1, true, null, {'p': ?}], 'pool': 'p', 'since': 1.5e1};`, s("q")),
		statement(`INSERT INTO nope VALUE {'pk': 'a', 'sk': 'b'}`),
		statement(`INSERT INTO leases VALUE {'pk': 'a'}`),
		statement(`INSERT INTO leases VALUE {'pk': 'a', 'sk': 1}`),
		statement(`INSERT INTO leases VALUE {'pk': 'a', 'sk': 'c', 'pool': 1}`),
		statement(byParams, s("a"), s("b")),
		statement(byParams, s("a"), s("b"), s("c"), s("d")),
		statement(byParams, s("a"), s("b"), s(strings.Repeat("x", 400<<10))),
		statement(byParams, s("a"), s("b"), n("x")),
		statement(`INSERT INTO leases`),
	)
	bad := "ValidationError"
	if diff := cmp.Diff(ends, []string{"ok", "DuplicateItem", "ok", "ResourceNotFound", bad, bad, bad, bad, bad, bad, bad, bad}); diff != "" {
		t.Error(diff)
	}
	for i, r := range out.Responses {
		want := "leases"
		switch i {
		case 3:
			want = "nope"
		case 11:
			want = ""
		}
		if got := aws.ToString(r.TableName); got != want {
			t.Errorf("response %d has the table %q, want %q", i, got, want)
		}
	}
	if e := out.Responses[1].Error; *e.Message != "Duplicate primary key exists in table" || e.Item != nil {
		t.Error(*e.Message, e.Item)
	}
	used, err := json.Marshal(out.ConsumedCapacity)
	if err != nil || len(out.ConsumedCapacity) != 3 || *out.ConsumedCapacity[2].CapacityUnits != 2 || *out.ConsumedCapacity[1].CapacityUnits != 1 {
		t.Errorf("%s %v", used, err)
	}
	var found []string
	for _, it := range scanAll(t, db, &dynamodb.ScanInput{}) {
		text, err := json.Marshal(it)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(text))
	}
	if len(found) != 3 || !strings.Contains(fmt.Sprint(found), "first") || strings.Contains(fmt.Sprint(found), "second") {
		t.Error(found)
	}
}
