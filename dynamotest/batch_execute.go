package dynamotest

import (
	"errors"
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/partiql"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// Limits of BatchExecuteStatement: the number of statements, and the bytes of each.
const (
	maxStatements = 25
	maxStatement  = 8192
)

// batchExecuteStatement is the operation BatchExecuteStatement. All its statements must be INSERTs.
// Each statement is a write of its own, and its error is part of its own response.
func (c *call) batchExecuteStatement(q *wire.Request) ([]byte, error) {
	if err := checkStatements(q); err != nil {
		return nil, err
	}
	inserts, err := c.inserts(q.Statements)
	if err != nil {
		return nil, err
	}
	err = c.locked("", func() error {
		if err := c.resolve(inserts); err != nil {
			return err
		}
		for i := range inserts {
			if inserts[i].err != nil {
				continue
			}
			if err := inserts[i].run(c, wants(q.ReturnCapacity)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return insertAnswer(inserts, q.ReturnCapacity), nil
}

// checkStatements checks the number, the lengths and the parameters of the statements, but does not
// parse them.
func checkStatements(q *wire.Request) error {
	var rules constraints
	if rules.required(q.HasStatements, "statements"); q.HasStatements {
		rules.longEnough(len(q.Statements), 1, "[]", "statements")
		rules.shortEnough(len(q.Statements), maxStatements, "[...]", "statements")
	}
	for i := range q.Statements {
		s, at := &q.Statements[i], "statements."+strconv.Itoa(i+1)+".member."
		if rules.required(s.Text.Given, at+"statement"); s.Text.Given {
			rules.longEnough(len(s.Text.Value), 1, "", at+"statement")
			rules.shortEnough(len(s.Text.Value), maxStatement, s.Text.Value, at+"statement")
		}
		if s.HasParams && s.Err == nil {
			rules.longEnough(len(s.Params), 1, "[]", at+"parameters")
		}
		rules.onFailure(s.OnFailure, at)
	}
	rules.capacity(q.ReturnCapacity)
	return rules.err()
}

// inserts parses the statements. The error of a statement that cannot be parsed is in its insert.
func (c *call) inserts(statements []wire.Statement) ([]insert, error) {
	inserts := make([]insert, len(statements))
	var text string
	var in *partiql.Insert
	for i, s := range statements {
		if in == nil || s.Text.Value != text {
			var err error
			in, err = c.cloud.texts.inserts.get(s.Text.Value)
			var u *partiql.Unsupported
			if errors.As(err, &u) {
				return nil, wire.Unsupported(u.What)
			}
			if err != nil {
				in, inserts[i].err = nil, err
				continue
			}
			text = s.Text.Value
		}
		inserts[i].read(in, s)
	}
	return inserts, nil
}

// resolve finds the table and the key of each insert. Two inserts of one key reject the request,
// even if one of them is not valid for its table. The caller holds the mutex.
func (c *call) resolve(inserts []insert) error {
	for i := range inserts {
		in := &inserts[i]
		if in.err != nil {
			continue
		}
		if in.table, in.err = c.table(in.name); in.err != nil {
			continue
		}
		if in.err = in.table.checkItem(in.item); in.err != nil && in.table.keys.CheckItem(in.item) != nil {
			continue
		}
		in.key = in.table.key(in.item)
		for _, other := range inserts[:i] {
			if other.key == in.key && other.table == in.table {
				return wire.Invalid("Provided list of item keys contains duplicates")
			}
		}
	}
	return nil
}

// insertAnswer returns the body of the answer.
func insertAnswer(inserts []insert, mode wire.Text) []byte {
	a := answer{out: make([]byte, 0, 64*len(inserts))}
	a.out = append(a.member("Responses"), '[')
	for i := range inserts {
		if i > 0 {
			a.out = append(a.out, ',')
		}
		a.out = inserts[i].appendJSON(a.out)
	}
	a.out = append(a.out, ']')
	var used []capacity
	for _, in := range inserts {
		if in.used.table != "" {
			used = append(used, in.used)
		}
	}
	a.capacities(used, mode)
	return a.end()
}
