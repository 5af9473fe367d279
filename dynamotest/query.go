package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/table"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// query is the operation Query.
func (c *call) query(q *wire.Request) ([]byte, error) {
	if !q.KeyCondition.Given {
		return nil, wire.Invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	r, err := c.reading(q, "")
	if err != nil {
		return nil, err
	}
	var p page
	err = c.locked(r.name, func() error {
		s, err := r.source()
		if err != nil {
			return err
		}
		if r.filter != nil {
			if err := r.filter.CheckFilter(s.keys.Names()...); err != nil {
				return err
			}
		}
		span, err := r.span(s)
		if err != nil {
			return err
		}
		if q.Backward {
			p = r.read(s, s.rows.Descend(span))
		} else {
			p = r.read(s, s.rows.Ascend(span))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.answer(p), nil
}

// span returns the range of keys that the query reads, from the start of the page.
func (r *reading) span(s source) (table.Span, error) {
	asked, err := r.key.Range(expr.KeyAttr(s.keys.Hash), expr.KeyAttr(s.keys.Range))
	if err != nil {
		return table.Span{}, err
	}
	partition := string(table.AppendPartition(nil, asked.Hash))
	span := table.Prefix(partition)
	if asked.Lo != nil {
		span.From = partition + string(asked.Lo)
	}
	if asked.Hi != nil {
		span.To = partition + string(asked.Hi)
	}
	if !r.q.HasExclusive {
		return span, nil
	}
	start, err := s.start(r.q.ExclusiveStartKey)
	if err != nil {
		return table.Span{}, err
	}
	if start < span.From || span.To != "" && start >= span.To {
		return table.Span{}, wire.Invalid("The provided starting key is outside query boundaries based on provided conditions")
	}
	if r.q.Backward {
		span.To = start
	} else {
		span.From, span.Open = start, true
	}
	return span, nil
}
