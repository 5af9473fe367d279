package command

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// Target is the row of a command.
type Target struct {
	Kind     string // liberate, transfer, supersede, revoke, headroom; "" if the command has no known kind
	Resource string // liberate, transfer, revoke: resource of the row; supersede: resource that the key loses
	Key      string // supersede: key of the row; revoke: key whose lease ends
	Row      lease.PrimaryKey
}

// TargetOf returns the target of a command, valid or not. Commands of one row are executed in
// order.
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
		_, t.Key, _ = lease.ParseHolder(c.GetRevoke().GetHolder())
		return t
	case c.GetSupersede() != nil:
		s := c.GetSupersede()
		rows := lease.KeyPartition(c.GetClient(), c.GetPool(), s.GetKey())
		return Target{
			Kind: "supersede", Resource: s.GetResource(), Key: s.GetKey(), Row: lease.PrimaryKey{Partition: rows, Sort: c.GetRegion()},
		}
	case c.GetHeadroom() != nil:
		return Target{Kind: "headroom", Row: lease.HeadroomRow(c.GetClient(), c.GetPool(), c.GetRegion())}
	default:
		return Target{}
	}
}
