package command

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// ErrInvalid marks a command that no executor can execute. The error states what is wrong with it.
var ErrInvalid = errors.New("invalid command")

// Config is what an executor knows beside the command.
type Config struct {
	Region  string   // region whose rows the executor writes
	Regions []string // all regions
	Rules   *lease.Rules
	Skew    int64 // maximum difference between two clocks, in milliseconds
	// TransferWait is the time for which a transferred resource is not available, in milliseconds.
	// It has to exceed the difference between clocks and the duration of a request, see package
	// model's Config.TransferWait and Flight.
	TransferWait int64
	// DrawBucket returns a number from 0 to n-1: the bucket in which a resource becomes available.
	DrawBucket func(n int) int
}

// Request is the write of a command: a rule of the protocol, or a region's headroom.
type Request struct {
	Target
	Write lease.Write
	// Bucket is the index partition of a resource that becomes available; "" leaves it unset.
	Bucket string
	// Headroom replaces the headroom row if it is newer. Write has no rule then.
	Headroom *eventspb.LeaseHeadroom
}

const (
	maxBuckets = 1000    // upper limit of a pool's buckets
	maxNumber  = 1 << 53 // upper limit of times, versions and numbers, so that no sum of them overflows
)

// Make returns the request of c. now is the present time in Unix milliseconds; read the clock for
// each attempt. The error wraps ErrInvalid.
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
			return fmt.Errorf("the lease ends at %d and the resource becomes available at %d, which is before it", l.GetExpiresMs(),
				l.GetAvailableMs())
		}
		o.Write = lease.Write{Rule: &t.Rules.Liberate, Args: lease.Row{Version: l.GetVersion(), Available: l.GetAvailableMs()}}
		return t.setBucket(o, c, t.Region, l.GetBuckets())
	case "transfer":
		x := c.GetTransfer()
		if x.GetTo() == t.Region || !slices.Contains(t.Regions, x.GetTo()) {
			return fmt.Errorf("the resource is transferred to %q, which has to be another of the regions %q", x.GetTo(), t.Regions)
		}
		o.Write = lease.Write{
			Rule: &t.Rules.Transfer, Args: lease.Row{Version: x.GetVersion(), Owner: x.GetTo(), Available: now + t.TransferWait},
		}
		return t.setBucket(o, c, x.GetTo(), x.GetBuckets())
	case "revoke":
		r := c.GetRevoke()
		if _, _, ok := lease.ParseHolder(r.GetHolder()); !ok {
			return fmt.Errorf("the holder %.80q is not a pool and a key", r.GetHolder())
		}
		o.Write = lease.Write{Rule: &t.Rules.Release, Args: lease.Row{Version: r.GetVersion(), Available: r.GetAvailableMs()}}
		return t.setBucket(o, c, t.Region, r.GetBuckets())
	case "supersede":
		return t.supersede(o, c)
	case "headroom":
		o.Headroom = c.GetHeadroom()
		return t.headroom(c)
	default:
		return errors.New("the kind is missing or unknown: a newer version of weir may have sent the command")
	}
}

// check validates the fields that all commands have.
func (t *Config) check(c *eventspb.LeaseCommand) error {
	switch {
	case c.GetId() == "":
		return errors.New("the id is empty")
	case c.GetRegion() != t.Region:
		return fmt.Errorf("the command is for region %q, and this executor is for %q", c.GetRegion(), t.Region)
	}
	if err := lease.CheckName("client", c.GetClient(), lease.MaxName); err != nil {
		return err //nolint:wrapcheck // Make does
	}
	return lease.CheckName("pool", c.GetPool(), lease.MaxName) //nolint:wrapcheck // Make does
}

// setBucket validates the request of a resource that becomes available in a region, and draws its
// bucket.
func (t *Config) setBucket(o *Request, c *eventspb.LeaseCommand, region string, buckets int32) error {
	if err := lease.CheckName("resource", o.Resource, lease.MaxKey); err != nil {
		return err //nolint:wrapcheck // Make does
	}
	switch a := &o.Write.Args; {
	case a.Version < 1 || a.Version > maxNumber:
		return fmt.Errorf("the version is %d, not 1 to %d", a.Version, int64(maxNumber))
	case a.Available < 1 || a.Available > maxNumber:
		return fmt.Errorf("the resource becomes available at %d, not 1 to %d", a.Available, int64(maxNumber))
	case buckets < 1 || buckets > maxBuckets:
		return fmt.Errorf("the pool has %d buckets, not 1 to %d", buckets, maxBuckets)
	}
	// The version implies the owner, if the command was decided on the right row. The extra
	// condition makes sure: of two regions that write one row, one loses its write.
	rule := *o.Write.Rule
	rule.When = append(slices.Clone(rule.When), lease.Condition{Attr: lease.AttrOwner, Test: lease.OwnRegion})
	o.Write.Rule = &rule
	o.Bucket = lease.Bucket(c.GetClient(), c.GetPool(), region, t.DrawBucket(int(buckets)))
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
		return fmt.Errorf("the winner is %q, which has to be another of the regions %q", s.GetWinner(), t.Regions)
	case s.GetVersion() < 1 || s.GetVersion() > maxNumber:
		return fmt.Errorf("the version is %d, not 1 to %d", s.GetVersion(), int64(maxNumber))
	}
	o.Write = lease.Write{
		Rule: &t.Rules.Supersede, Args: lease.Row{Version: s.GetVersion(), State: lease.Superseded, Winner: s.GetWinner()},
	}
	return nil
}

func (t *Config) headroom(c *eventspb.LeaseCommand) error {
	h := c.GetHeadroom()
	if h.GetClient() != c.GetClient() || h.GetPool() != c.GetPool() || h.GetRegion() != c.GetRegion() {
		return fmt.Errorf("the headroom is of client %.80q, pool %.80q, region %.80q, not of the command's", h.GetClient(), h.GetPool(),
			h.GetRegion())
	}
	if h.GetAsOfMs() < 1 {
		return fmt.Errorf("as_of_ms of the headroom is %d, not 1 to %d", h.GetAsOfMs(), int64(maxNumber))
	}
	for _, n := range []int64{
		h.GetAsOfMs(), h.GetFree(), h.GetReturning(), h.GetLeased(), h.GetInTransit(), h.GetOutbound(), h.GetNeed(), h.GetHorizonMs(),
		h.GetFloor(), h.GetRefused(), h.GetLagMs(),
	} {
		if n < -maxNumber || n > maxNumber {
			return fmt.Errorf("the headroom has the number %d: the limit is %d", n, int64(maxNumber))
		}
	}
	for _, x := range []float64{h.GetRate(), h.GetSpread()} {
		if math.IsNaN(x) || math.Abs(x) > maxNumber {
			return fmt.Errorf("the headroom has the number %g: the limit is %d", x, int64(maxNumber))
		}
	}
	for _, s := range []string{h.GetForecast(), h.GetState()} {
		if len(s) > lease.MaxName {
			return fmt.Errorf("the headroom has a text of %d bytes, and %d are allowed", len(s), lease.MaxName)
		}
	}
	return nil
}
