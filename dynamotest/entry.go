package dynamotest

import (
	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/table"
)

func (c *Cloud) restore() error { return nil }

func (c *Cloud) recordChange(t *liveTable, keys item.Item, row table.Row) error { return nil }

func (c *Cloud) recordDefinition(r *Region, def *table.Definition) error { return nil }

func (c *Cloud) recordDrop(r *Region, name string) error { return nil }
