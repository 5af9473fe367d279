package wire

import (
	"errors"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Statement is one statement of a BatchExecuteStatement.
type Statement struct {
	Text      Text
	OnFailure Text
	Params    []item.Value
	HasParams bool
	Err       *Error // the error in a parameter's value, which concerns this statement alone
}

// Statements reads the Statements of a BatchExecuteStatement.
func Statements(q *Request, r *Reader) {
	q.HasStatements, q.Statements = true, make([]Statement, 0, 25)
	var last Statement
	r.array(func() {
		var s Statement
		r.object(func(name []byte) {
			switch string(name) {
			case "Statement":
				r.repeatedText(&s.Text, last.Text)
			case "ReturnValuesOnConditionCheckFailure":
				r.text(&s.OnFailure)
			case "Parameters":
				s.HasParams = true
				r.params(&s, len(last.Params))
			default:
				r.refuse(Unsupported("the parameter " + string(name) + " of BatchExecuteStatement"))
				r.Skip()
			}
		})
		q.Statements = append(q.Statements, s)
		last = s
	})
}

// repeatedText reads a text that is usually equal to the last one.
func (r *Reader) repeatedText(t *Text, last Text) {
	if r.Peek() != '"' {
		r.mismatch("String")
		return
	}
	if text := r.Text(); string(text) == last.Value {
		*t = Text{Value: last.Value, Given: true}
	} else {
		*t = Text{Value: string(text), Given: true}
	}
}

// params reads the parameters of a statement. n is their expected number.
func (r *Reader) params(s *Statement, n int) {
	if r.Peek() != '[' {
		r.mismatch("List")
		return
	}
	values, err := r.items.List(&r.Scanner, make([]item.Value, 0, n))
	var e *item.Error
	if errors.As(err, &e) && e.Code == Validation {
		s.Err = From(err)
		return
	}
	r.fail(err)
	s.Params = values
}
