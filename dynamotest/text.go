package dynamotest

import (
	"sync"

	"github.com/weirhq/weir/dynamotest/internal/expr"
	"github.com/weirhq/weir/dynamotest/internal/partiql"
)

// texts caches parsed expressions and statements by their text: clients send the same few texts
// again and again.
type texts struct {
	conditions parsed[*expr.Condition]
	filters    parsed[*expr.Condition]
	updates    parsed[*expr.Update]
	selections parsed[*expr.Projection]
	keys       parsed[*expr.KeyCondition]
	inserts    parsed[*partiql.Insert]
}

func newTexts() *texts {
	t := &texts{}
	t.conditions.parse, t.filters.parse, t.updates.parse = expr.ParseCondition, expr.ParseFilter, expr.ParseUpdate
	t.selections.parse, t.keys.parse = expr.ParseProjection, expr.ParseKey
	t.inserts.parse = partiql.Parse
	return t
}

// maxTexts bounds each cache: a client may put values into its texts. A full cache is emptied.
const maxTexts = 1000

// parsed is the cache of one kind of expression or statement.
type parsed[T any] struct {
	parse func(text string) (T, error)
	mu    sync.Mutex
	known map[string]T
}

func (p *parsed[T]) get(text string) (T, error) {
	p.mu.Lock()
	e, ok := p.known[text]
	p.mu.Unlock()
	if ok {
		return e, nil
	}
	e, err := p.parse(text)
	if err != nil {
		return e, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxTexts {
		p.known = map[string]T{}
	}
	p.known[text] = e
	return e, nil
}
