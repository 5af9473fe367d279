package command

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// Target is the row that a command is of.
type Target struct {
	Kind     string // liberate, transfer, supersede, revoke, headroom; "" if the command has none of them
	Resource string // of liberate, transfer, revoke: the row's; of supersede: the one that the key loses
	Key      string // of supersede: the row's; of revoke: whose lease ends
	Row      lease.PrimaryKey
}

// TargetOf is what a command is of, also if it is not valid. Commands of one row are carried out in their order.
func TargetOf(c *eventspb.LeaseCommand) Target {
	resource := func(kind, name string) Target {
		return Target{Kind: kind, Resource: name, Row: lease.ResourceRow(c.GetClient(), name)}
	}
	switch {
	case c.GetLiberate() != nil:
		return resource("liberate", c.GetLiberate().GetResource())
	case c.GetTransfer() != nil:
		return resource("transfer", c.GetTransfer().GetResource())
	case c.GetRevoke() != nil:
		t := resource("revoke", c.GetRevoke().GetResource())
		_, t.Key, _ = lease.HolderOf(c.GetRevoke().GetHolder())
		return t
	case c.GetSupersede() != nil:
		s := c.GetSupersede()
		rows := lease.KeyRows(c.GetClient(), c.GetPool(), s.GetKey())
		return Target{Kind: "supersede", Resource: s.GetResource(), Key: s.GetKey(), Row: lease.PrimaryKey{Partition: rows, Sort: c.GetRegion()}}
	case c.GetHeadroom() != nil:
		return Target{Kind: "headroom", Row: lease.HeadroomRow(c.GetClient(), c.GetPool(), c.GetRegion())}
	default:
		return Target{}
	}
}
