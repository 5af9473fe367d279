package command

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// ErrInvalid is the error of a command that makes no sense, here or anywhere.
var ErrInvalid = errors.New("the command is not valid")

// Config are what an executor knows beside the command.
type Config struct {
	Region  string   // whose rows it writes
	Regions []string // all that there are
	Rules   *lease.Rules
	Skew    int64 // most by which a clock may be off, in milliseconds
	// TransferWait is for how long a resource is not available after it went to another region, in milliseconds: longer than clocks
	// are apart and a request with its answer is under way, see package model's Config.TransferWait and Flight.
	TransferWait int64
	// DrawBucket gives a number from 0 to n-1: the sub-partition in which a resource becomes available.
	DrawBucket func(n int) int
}

// Request is a write that a command stands for: a rule of the protocol, or a region's headroom.
type Request struct {
	Target
	Write lease.Write
	// Bucket is set beside what the rule sets, as the row's place in the index of available resources; "" sets nothing.
	Bucket string
	// Headroom replaces the row if it is newer; then there is no rule.
	Headroom *eventspb.LeaseHeadroom
}

const (
	maxBuckets = 1000    // of a pool, as its settings have it
	maxNumber  = 1 << 53 // no time, version or number is greater: none of them overflows, whatever is added
)

// Make is the order that c stands for when it is now, in milliseconds since 1970: the clock must be read for each attempt.
// The error is an ErrInvalid.
func (t *Config) Make(c *eventspb.LeaseCommand, now int64) (*Request, error) {
	o := &Request{Target: TargetOf(c)}
	if err := t.make(o, c, now); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	o.Write.Now, o.Write.Skew, o.Write.Region = now, t.Skew, t.Region
	return o, nil
}

func (t *Config) make(o *Request, c *eventspb.LeaseCommand, now int64) error {
	if err := t.check(c); err != nil {
		return err
	}
	switch o.Kind {
	case "liberate":
		l := c.GetLiberate()
		if l.GetExpiresMs() < 1 || l.GetAvailableMs() < l.GetExpiresMs() {
			return fmt.Errorf("the lease ends at %d and the resource is available at %d, not after it", l.GetExpiresMs(), l.GetAvailableMs())
		}
		o.Write = lease.Write{Rule: &t.Rules.Liberate, Args: lease.Row{Version: l.GetVersion(), Available: l.GetAvailableMs()}}
		return t.setBucket(o, c, t.Region, l.GetBuckets())
	case "transfer":
		x := c.GetTransfer()
		if x.GetTo() == t.Region || !slices.Contains(t.Regions, x.GetTo()) {
			return fmt.Errorf("a transfer to %q, which is not another of the regions %q", x.GetTo(), t.Regions)
		}
		o.Write = lease.Write{Rule: &t.Rules.Transfer, Args: lease.Row{Version: x.GetVersion(), Owner: x.GetTo(), Available: now + t.TransferWait}}
		return t.setBucket(o, c, x.GetTo(), x.GetBuckets())
	case "revoke":
		r := c.GetRevoke()
		if _, _, ok := lease.HolderOf(r.GetHolder()); !ok {
			return fmt.Errorf("the holder %.80q is no pool and key", r.GetHolder())
		}
		o.Write = lease.Write{Rule: &t.Rules.Release, Args: lease.Row{Version: r.GetVersion(), Available: r.GetAvailableMs()}}
		return t.setBucket(o, c, t.Region, r.GetBuckets())
	case "supersede":
		return t.supersede(o, c)
	case "headroom":
		o.Headroom = c.GetHeadroom()
		return t.headroom(c)
	default:
		return errors.New("it has no command, or one of a newer weir")
	}
}

// check is of what all commands have.
func (t *Config) check(c *eventspb.LeaseCommand) error {
	switch {
	case c.GetId() == "":
		return errors.New("it has no id")
	case c.GetRegion() != t.Region:
		return fmt.Errorf("it is for region %q, this is %q", c.GetRegion(), t.Region)
	}
	if err := lease.CheckName("client", c.GetClient(), lease.MaxName); err != nil {
		return err //nolint:wrapcheck // Make does
	}
	return lease.CheckName("pool", c.GetPool(), lease.MaxName) //nolint:wrapcheck // Make does
}

// setBucket completes an order of a resource that becomes available in a region.
func (t *Config) setBucket(o *Request, c *eventspb.LeaseCommand, region string, shelves int32) error {
	if err := lease.CheckName("resource", o.Resource, lease.MaxKey); err != nil {
		return err //nolint:wrapcheck // Make does
	}
	switch a := &o.Write.Args; {
	case a.Version < 1 || a.Version > maxNumber:
		return fmt.Errorf("the version is %d", a.Version)
	case a.Available < 1 || a.Available > maxNumber:
		return fmt.Errorf("the resource is available at %d", a.Available)
	case shelves < 1 || shelves > maxBuckets:
		return fmt.Errorf("the pool has %d sub-partitions, not 1 to %d", shelves, maxBuckets)
	}
	// The version says who owns the row, if whoever decided it looked at the right one. This makes sure: a row that two regions
	// write loses what one of them wrote.
	rule := *o.Write.Rule
	rule.When = append(slices.Clone(rule.When), lease.Condition{Attr: lease.AttrOwner, Test: lease.OwnRegion})
	o.Write.Rule = &rule
	o.Bucket = lease.Bucket(c.GetClient(), c.GetPool(), region, t.DrawBucket(int(shelves)))
	return nil
}

func (t *Config) supersede(o *Request, c *eventspb.LeaseCommand) error {
	s := c.GetSupersede()
	if err := lease.CheckLease(c.GetClient(), c.GetPool(), s.GetKey()); err != nil {
		return err //nolint:wrapcheck // Make does
	}
	if err := lease.CheckName("resource", s.GetResource(), lease.MaxKey); err != nil {
		return err //nolint:wrapcheck // Make does
	}
	switch {
	case s.GetWinner() == t.Region || !slices.Contains(t.Regions, s.GetWinner()):
		return fmt.Errorf("the winner is %q, which is not another of the regions %q", s.GetWinner(), t.Regions)
	case s.GetVersion() < 1 || s.GetVersion() > maxNumber:
		return fmt.Errorf("the version is %d", s.GetVersion())
	}
	o.Write = lease.Write{Rule: &t.Rules.Supersede, Args: lease.Row{Version: s.GetVersion(), State: lease.Superseded, Winner: s.GetWinner()}}
	return nil
}

func (t *Config) headroom(c *eventspb.LeaseCommand) error {
	h := c.GetHeadroom()
	if h.GetClient() != c.GetClient() || h.GetPool() != c.GetPool() || h.GetRegion() != c.GetRegion() {
		return fmt.Errorf("the headroom is of client %.80q, pool %.80q, region %.80q, not of the command's", h.GetClient(), h.GetPool(), h.GetRegion())
	}
	if h.GetAsOfMs() < 1 {
		return fmt.Errorf("the headroom is as of %d", h.GetAsOfMs())
	}
	for _, n := range []int64{
		h.GetAsOfMs(), h.GetFree(), h.GetReturning(), h.GetLeased(), h.GetInTransit(), h.GetOutbound(), h.GetNeed(), h.GetHorizonMs(), h.GetFloor(), h.GetRefused(), h.GetLagMs(),
	} {
		if n < -maxNumber || n > maxNumber {
			return fmt.Errorf("the headroom has the number %d", n)
		}
	}
	for _, x := range []float64{h.GetRate(), h.GetSpread()} {
		if math.IsNaN(x) || math.Abs(x) > maxNumber {
			return fmt.Errorf("the headroom has the number %g", x)
		}
	}
	for _, s := range []string{h.GetForecast(), h.GetState()} {
		if len(s) > lease.MaxName {
			return fmt.Errorf("the headroom has a word of %d bytes", len(s))
		}
	}
	return nil
}
