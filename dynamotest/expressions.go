package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// expressions are the expressions of a request, with names and values put in. An expression that
// the request does not have is nil.
type expressions struct {
	update    *expr.Change
	condition *expr.Test
	key       *expr.Keys
	filter    *expr.Test
	selection *expr.Selection
}

// binder puts names and values into the expressions of a request, one after the other, until the
// first error.
type binder struct {
	texts  *texts
	names  expr.Names
	values item.Item
	used   []expr.Refs
	err    error
}

// expressions parses and binds the expressions of the request. without is the end of the error text
// for a request that has values but no expression.
func (c *call) expressions(q *wire.Request, without string) (expressions, error) {
	var e expressions
	b := &binder{texts: c.cloud.texts, names: q.Names, values: q.Values}
	if q.HasNames {
		b.check(expr.CheckNames(b.names))
	}
	if q.HasValues {
		b.check(expr.CheckValues(b.values))
	}
	if !q.Update.Given && !q.Condition.Given && !q.KeyCondition.Given && !q.Filter.Given {
		if q.HasNames && !q.Projection.Given {
			b.check(wire.Invalid("ExpressionAttributeNames can only be specified when using expressions"))
		}
		if q.HasValues {
			b.check(wire.Invalid("ExpressionAttributeValues can only be specified when using expressions: " + without))
		}
	}
	e.update = bind(b, q.Update, &b.texts.updates, (*expr.Update).Bind, (*expr.Update).Refs)
	e.condition = bind(b, q.Condition, &b.texts.conditions, (*expr.Condition).Bind, (*expr.Condition).Refs)
	e.key = bind(b, q.KeyCondition, &b.texts.keys, (*expr.KeyCondition).Bind, (*expr.KeyCondition).Refs)
	e.filter = bind(b, q.Filter, &b.texts.filters, (*expr.Condition).Bind, (*expr.Condition).Refs)
	project := func(p *expr.Projection, names expr.Names, _ item.Item) (expr.Selection, error) { return p.Bind(names) }
	e.selection = bind(b, q.Projection, &b.texts.selections, project, (*expr.Projection).Refs)
	if b.err == nil {
		b.check(expr.CheckUnused(b.names, b.values, b.used...))
	}
	if b.err == nil && e.key != nil {
		b.check(e.key.Check())
	}
	return e, b.err
}

func (b *binder) check(err error) {
	if b.err == nil {
		b.err = err
	}
}

// bind parses one expression and puts in names and values. It returns nil if the request has no
// such expression, or after an error.
func bind[P, B any](b *binder, text wire.Text, known *parsed[P], put func(P, expr.Names, item.Item) (B, error), refs func(P) expr.Refs) *B {
	if !text.Given || b.err != nil {
		return nil
	}
	p, err := known.get(text.Value)
	if err != nil {
		b.err = err
		return nil
	}
	b.used = append(b.used, refs(p))
	bound, err := put(p, b.names, b.values)
	b.err = err
	return &bound
}

// checkKeys returns an error if an expression uses a key attribute of the table in a way that is
// not allowed.
func (e expressions) checkKeys(t *liveTable) error {
	if e.update != nil {
		if err := e.update.CheckKeys(t.keys.Names()...); err != nil {
			return err
		}
	}
	if err := e.checkScalars("Key", t.keys.Names()); err != nil {
		return err
	}
	for _, in := range t.indexes {
		if err := e.checkScalars("IndexKey", in.Keys.Names()); err != nil {
			return err
		}
	}
	return nil
}

// checkScalars returns an error if an expression has a path inside a key attribute.
func (e expressions) checkScalars(label string, names []string) error {
	var errs []error
	if e.update != nil {
		errs = append(errs, e.update.CheckScalars(label, names...))
	}
	if e.condition != nil {
		errs = append(errs, e.condition.CheckScalars(label, names...))
	}
	if e.filter != nil {
		errs = append(errs, e.filter.CheckScalars(label, names...))
	}
	if e.selection != nil {
		errs = append(errs, e.selection.CheckScalars(label, names...))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// selected returns the part of an item that the request's projection selects.
func (e expressions) selected(it item.Item) item.Item {
	if e.selection == nil {
		return it
	}
	return e.selection.Of(it)
}
