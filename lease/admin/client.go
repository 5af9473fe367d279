package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Client is a client: a tenant that has pools.
type Client struct {
	Client string `json:"client"`
	StoredRow
}

// String returns the client for messages.
func (c *Client) String() string { return fmt.Sprintf("client %q", c.Client) }

func (c *Client) primary() lease.PrimaryKey { return lease.ClientRow(c.Client) }

func (c *Client) check() error {
	return errors.Join(lease.CheckName("client", c.Client, lease.MaxName), checkDescription(c.Description))
}

func (c *Client) item() table.Item { return table.Item{} }

func (c *Client) read(item table.Item) error {
	c.Client = table.Text(item, table.SK)
	return nil
}

func (c *Client) needs(context.Context, *Admin) error { return nil }

func (c *Client) checkReplaces(*Client) error { return nil }

func (c *Client) unused(ctx context.Context, a *Admin) error {
	pools, err := List(ctx, a, Pool{Client: c.Client})
	if err == nil && len(pools) > 0 {
		err = fmt.Errorf("%s: %w: number of pools %d, such as %q; delete the pools first", c, ErrInUse, len(pools), pools[0].Pool)
	}
	return err
}
