package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// putItem is the operation PutItem.
func (c *call) putItem(q *wire.Request) ([]byte, error) {
	w, err := c.writing(q, "ConditionExpression is null", "ALL_OLD")
	if err != nil {
		return nil, err
	}
	check := func(t *liveTable) (item.Item, error) { return q.Item, t.checkItem(q.Item) }
	return w.run(check, func(*liveTable, item.Item) (item.Item, error) { return q.Item, nil })
}

// checkItem returns an error unless the table can hold the item.
func (t *liveTable) checkItem(it item.Item) error {
	if err := t.keys.CheckItem(it); err != nil {
		return err
	}
	for _, in := range t.indexes {
		if err := in.CheckItem(it); err != nil {
			return err
		}
	}
	if it.Size() > item.MaxSize {
		return wire.Invalid("Item size has exceeded the maximum allowed size")
	}
	return nil
}

// deleteItem is the operation DeleteItem.
func (c *call) deleteItem(q *wire.Request) ([]byte, error) {
	w, err := c.writing(q, "ConditionExpression is null", "ALL_OLD")
	if err != nil {
		return nil, err
	}
	check := func(t *liveTable) (item.Item, error) { return q.Key, t.keys.CheckKey(q.Key) }
	return w.run(check, func(*liveTable, item.Item) (item.Item, error) { return item.Item{}, nil })
}

// updateItem is the operation UpdateItem.
func (c *call) updateItem(q *wire.Request) ([]byte, error) {
	w, err := c.writing(q, "UpdateExpression and ConditionExpression are null", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
	if err != nil {
		return nil, err
	}
	check := func(t *liveTable) (item.Item, error) { return q.Key, t.keys.CheckKey(q.Key) }
	return w.run(check, func(t *liveTable, found item.Item) (item.Item, error) {
		if w.update == nil {
			if found == (item.Item{}) {
				found = q.Key
			}
			return found, nil
		}
		to, err := w.update.Apply(found, q.Key)
		if err != nil {
			return item.Item{}, err
		}
		for _, in := range t.indexes {
			if err := in.CheckItem(to); err != nil {
				return item.Item{}, err
			}
		}
		if to.Size() > item.MaxSize {
			return item.Item{}, wire.Invalid("Item size to update has exceeded the maximum allowed size")
		}
		return to, nil
	})
}
