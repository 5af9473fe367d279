package dedup

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// supersede emits the commands that are due.
func (d *Dedup) supersede(x *decisionContext, k *Key, v *decision) error {
	if v.winner < 0 {
		return nil
	}
	winner := &k.Rows[v.winner]
	for _, i := range v.losers {
		r := &k.Rows[i]
		if r.CommandedWinner == winner.Region && x.nowMs < r.NextCommandMs {
			continue
		}
		if r.Tries > 0 {
			d.stats.Repeated++
		}
		r.CommandedWinner = winner.Region
		r.Tries++
		r.NextCommandMs = x.nowMs + d.cfg.backoff(r.Tries)
		// The resource first: when the key row shows that it is superseded, the Revoke is not
		// repeated.
		if x.settings.mode == modeRelease && r.State == lease.Leased {
			d.stats.Revokes++
			c := x.command("revoke", r)
			c.Command = &eventspb.LeaseCommand_Revoke{Revoke: &eventspb.LeaseRevoke{
				Resource: r.Resource, Version: r.ResourceVersion, AvailableMs: r.Expires + x.settings.quarantine,
				Buckets: x.settings.buckets,
				Holder:  lease.Holder(x.pool, x.key),
			}}
			if err := d.emitCommand(c); err != nil {
				return err
			}
		}
		d.stats.Supersedes++
		c := x.command("supersede", r)
		c.Command = &eventspb.LeaseCommand_Supersede{Supersede: &eventspb.LeaseSupersede{
			Key: x.key, Version: r.Version, Resource: r.Resource, Winner: winner.Region,
		}}
		if err := d.emitCommand(c); err != nil {
			return err
		}
	}
	return nil
}

// command returns a command without an action for the region of r.
func (x *decisionContext) command(kind string, r *Row) *eventspb.LeaseCommand {
	why := "the lease of the key in " + r.CommandedWinner + " won"
	if r.Tries > 1 {
		why += fmt.Sprintf("; attempt %d, the row has not changed", r.Tries)
	}
	return &eventspb.LeaseCommand{
		Id:     lease.JoinNames(kind, x.client, x.pool, x.key, r.Region, strconv.FormatInt(r.Version, 10), strconv.FormatInt(r.Tries, 10)),
		Client: x.client, Pool: x.pool, Region: r.Region, By: "dedup", Why: why, DecidedMs: x.nowMs,
	}
}

func (d *Dedup) emitCommand(c *eventspb.LeaseCommand) error {
	to, ok := d.cfg.Output(c.Region)
	if !ok {
		d.stats.SettingsWaits++ // the command is repeated; an operator may declare the region by then
		return nil
	}
	return d.emit(to, c.Client+"\x00"+c.Pool, c)
}

func (d *Dedup) emit(to, key string, m proto.Message) error {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("output %s, key %q: %w", to, key, err)
	}
	d.out = append(d.out, output{to, key, value})
	return nil
}
