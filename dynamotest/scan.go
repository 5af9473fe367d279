package dynamotest

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// maxSegments is the maximum number of segments of a parallel scan.
const maxSegments = 1_000_000

// scan is the operation Scan.
func (c *call) scan(q *wire.Request) ([]byte, error) {
	r, err := c.reading(q, "FilterExpression is null")
	if err != nil {
		return nil, err
	}
	span, err := segment(q)
	if err != nil {
		return nil, err
	}
	var p page
	err = c.locked(r.name, func() error {
		s, err := r.source()
		if err != nil {
			return err
		}
		if q.HasExclusive {
			start, err := s.start(q.ExclusiveStartKey)
			if err != nil {
				return err
			}
			if start < span.From || span.To != "" && start >= span.To {
				return wire.Invalid(
					"The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: " + strconv.FormatInt(q.TotalSegments.Value, 10) + " Segment: " + strconv.FormatInt(q.Segment.Value, 10))
			}
			span.From, span.Open = start, true
		}
		p = r.read(s, s.rows.Ascend(span))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.answer(p), nil
}

// segment returns the keys of the request's segment, which is a range of hashes.
func segment(q *wire.Request) (table.Span, error) {
	n, total := q.Segment.Value, q.TotalSegments.Value
	var rules constraints
	rules.atLeastOne(q.TotalSegments, "totalSegments")
	switch {
	case !q.Segment.Given && !q.TotalSegments.Given:
		return table.Span{}, nil
	case !q.Segment.Given:
		return table.Span{}, wire.Invalid(
			"The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case !q.TotalSegments.Given:
		return table.Span{}, wire.Invalid(
			"The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case total < 1:
		return table.Span{}, rules.err()
	case total > maxSegments:
		return table.Span{}, wire.Invalid("1 validation error detected: Value '" + strconv.FormatInt(total, 10) +
			"' at 'totalSegments' failed to satisfy constraint: Member must have value less than or equal to 1000000")
	case n < 0:
		return table.Span{}, wire.Invalid("1 validation error detected: Value '" + strconv.FormatInt(n, 10) +
			"' at 'segment' failed to satisfy constraint: Member must have value greater than or equal to 0")
	case n >= total:
		return table.Span{}, wire.Invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: " +
			strconv.FormatInt(n, 10) + " is not less than TotalSegments: " + strconv.FormatInt(total, 10))
	}
	span := table.Span{From: hashBound(n, total)}
	if n+1 < total {
		span.To = hashBound(n+1, total)
	}
	return span, nil
}

// hashBound returns the first hash of segment n of total, in the form with which encoded keys
// begin: n/total of all hashes.
func hashBound(n, total int64) string {
	quotient, _ := bits.Div64(uint64(n), 0, uint64(total))
	return string(binary.BigEndian.AppendUint64(nil, quotient))
}
