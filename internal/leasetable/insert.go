package leasetable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxInsert is how many items an Insert may have.
const MaxInsert = 25

// Inserted is what became of one item of an Insert: Err, or There, because one of its key was, or it was put.
type Inserted struct {
	There bool
	Err   error
}

// Insert puts items where there are none: each for itself, in one request. No two may have one key. PartiQL's INSERT is the
// only way by which DynamoDB does so: BatchWriteItem replaces what is there.
func (t *Table) Insert(ctx context.Context, region string, items []Item) ([]Inserted, error) {
	in := &dynamodb.BatchExecuteStatementInput{Statements: make([]types.BatchStatementRequest, len(items))}
	for i, item := range items {
		in.Statements[i] = t.insert(item)
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	out, err := t.Client(region).BatchExecuteStatement(ctx, in, t.Options)
	if err != nil {
		return nil, t.Failed(err)
	}
	if len(out.Responses) != len(items) {
		return nil, fmt.Errorf("%w: %d answers to %d inserts", ErrUnavailable, len(out.Responses), len(items))
	}
	list := make([]Inserted, len(items))
	for i, r := range out.Responses {
		switch {
		case r.Error == nil:
		case r.Error.Code == types.BatchStatementErrorCodeEnumDuplicateItem:
			list[i].There = true
		default:
			list[i].Err = t.statement(r.Error)
		}
	}
	return list, t.checkClock(out.ResultMetadata)
}

func (t *Table) insert(item Item) types.BatchStatementRequest {
	names := make([]string, 0, len(item))
	for name := range item {
		names = append(names, name)
	}
	slices.Sort(names) // so that statements of like items are the same
	var text strings.Builder
	fmt.Fprintf(&text, "INSERT INTO %q VALUE {", t.Name)
	parameters := make([]types.AttributeValue, len(names))
	for i, name := range names {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString("'" + name + "': ?")
		parameters[i] = item[name]
	}
	text.WriteString("}")
	statement := text.String()
	return types.BatchStatementRequest{Statement: &statement, Parameters: parameters}
}

// statement says which of our errors the error of one statement is.
func (t *Table) statement(e *types.BatchStatementError) error {
	kind := ErrUnavailable
	switch e.Code {
	case types.BatchStatementErrorCodeEnumThrottlingError, types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded,
		types.BatchStatementErrorCodeEnumRequestLimitExceeded:
		kind = ErrThrottled
	case types.BatchStatementErrorCodeEnumAccessDenied:
		kind = ErrDenied
	case types.BatchStatementErrorCodeEnumResourceNotFound, types.BatchStatementErrorCodeEnumValidationError:
		kind = ErrTable
	default:
	}
	message := ""
	if e.Message != nil {
		message = *e.Message
	}
	return fmt.Errorf("%w: %s: %s", kind, e.Code, message)
}
