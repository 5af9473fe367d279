package table

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// MaxInsert is the maximum number of items of one Insert.
const MaxInsert = 25

// Inserted is the result of one item of an Insert: an error, or whether an item with its key
// existed.
type Inserted struct {
	Existed bool
	Err     error
}

// Insert puts each item whose key has no item yet, in one request. Keys must differ. It uses
// PartiQL's INSERT, the only batch operation of DynamoDB that does not replace an existing item.
func (t *Table) Insert(ctx context.Context, region string, items []Item) ([]Inserted, error) {
	in := &dynamodb.BatchExecuteStatementInput{Statements: make([]types.BatchStatementRequest, len(items))}
	s := &statement{}
	for i, item := range items {
		if !s.fits(item) {
			s = t.statement(item)
		}
		in.Statements[i] = s.request(item)
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	begun := time.Now()
	out, err := t.Client(region).BatchExecuteStatement(ctx, in, t.Options)
	if err != nil {
		return nil, t.ClassifyError(region, err)
	}
	if len(out.Responses) != len(items) {
		return nil, fmt.Errorf("%w: %d results for %d inserts", ErrUnavailable, len(out.Responses), len(items))
	}
	list := make([]Inserted, len(items))
	for i, r := range out.Responses {
		switch {
		case r.Error == nil:
		case r.Error.Code == types.BatchStatementErrorCodeEnumDuplicateItem:
			list[i].Existed = true
		default:
			list[i].Err = t.statementError(r.Error)
		}
	}
	return list, t.checkClock(out.ResultMetadata, begun)
}

// statement is the PartiQL text for items with the same attribute names. It is reused, as most
// items of an import have the same names.
type statement struct {
	text  string
	names []string
}

func (t *Table) statement(item Item) *statement {
	s := &statement{names: slices.Sorted(maps.Keys(item))}
	s.text = fmt.Sprintf("INSERT INTO %q VALUE {'%s': ?}", t.Name, strings.Join(s.names, "': ?, '"))
	return s
}

func (s *statement) fits(item Item) bool {
	for _, name := range s.names {
		if item[name] == nil {
			return false
		}
	}
	return len(s.names) == len(item)
}

func (s *statement) request(item Item) types.BatchStatementRequest {
	r := types.BatchStatementRequest{Statement: &s.text, Parameters: make([]types.AttributeValue, len(s.names))}
	for i, name := range s.names {
		r.Parameters[i] = item[name]
	}
	return r
}

// statementError returns one of this package's errors for the error of one statement.
func (t *Table) statementError(e *types.BatchStatementError) error {
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
