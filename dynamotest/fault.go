package dynamotest

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// FaultKind is what goes wrong.
type FaultKind string

// The kinds of faults.
const (
	// Throttle refuses a request, with one of the errors that DynamoDB has for that. Of a batch it leaves parts undone, or
	// refuses some of its statements.
	Throttle FaultKind = "throttle"
	// ServerError answers InternalServerError: half of the times before the operation took place, half after it. Statements
	// of a batch have it too, each for itself.
	ServerError FaultKind = "server-error"
	// LostAnswer closes the connection in place of the answer: the operation took place.
	LostAnswer FaultKind = "lost-answer"
	// Slow answers after Delay: the operation took place before it.
	Slow FaultKind = "slow"
	// Unreachable closes the connection before the operation: it did not take place. With a rate of 1, the region is down.
	Unreachable FaultKind = "unreachable"
)

// Fault is one thing that goes wrong, and where.
type Fault struct {
	// Kind is what goes wrong.
	Kind FaultKind
	// Rate is how likely it is for each request, from 0 to 1.
	Rate float64
	// Delay is how late a Slow answer is.
	Delay Span
	// Region, Operation (such as PutItem) and Table restrict the fault to those. Each defaults to all.
	Region, Operation, Table string
}

// checkFaults returns an error that names the first fault that makes no sense.
func checkFaults(faults []Fault) error {
	for i, f := range faults {
		switch {
		case !slices.Contains([]FaultKind{Throttle, ServerError, LostAnswer, Slow, Unreachable}, f.Kind):
			return fmt.Errorf("dynamotest: fault %d is of the unknown kind %q: use one of throttle, server-error, lost-answer, slow, unreachable", i, f.Kind)
		case f.Rate < 0 || f.Rate > 1:
			return fmt.Errorf("dynamotest: fault %d, %s, has the rate %g: give a number from 0 to 1", i, f.Kind, f.Rate)
		case f.Delay.Min < 0 || f.Delay.Max < f.Delay.Min:
			return fmt.Errorf("dynamotest: fault %d, %s, has a delay from %s to %s: give 0 <= Min <= Max", i, f.Kind, f.Delay.Min, f.Delay.Max)
		}
	}
	return nil
}

// SetFaults replaces the faults of the profile, from the next request on. No faults end them all.
func (c *Cloud) SetFaults(faults ...Fault) error {
	if err := checkFaults(faults); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = slices.Clone(faults)
	return nil
}

// matches tells whether a fault may befall the request; table is "" if it names none.
func (f Fault) matches(c *call, table string) bool {
	return (f.Region == "" || f.Region == c.region.name) && (f.Operation == "" || f.Operation == c.operation) && (f.Table == "" || f.Table == table)
}

// strike draws the faults of a request. It returns an error for one that hinders the operation; others it notes in c.
func (c *call) strike(table string) error {
	for _, f := range c.cloud.faults {
		if f.Kind == Throttle && c.batch || !f.matches(c, table) || !c.cloud.happens(f.Rate) {
			continue
		}
		switch f.Kind {
		case Throttle:
			return c.throttled()
		case ServerError:
			if c.cloud.dice.IntN(2) == 0 {
				return serverError()
			}
			c.failed = true
		case LostAnswer:
			c.lost = true
		case Slow:
			c.delay += f.Delay.draw(c.cloud.dice)
		case Unreachable:
			c.lost = true
			return errUnreachable
		}
	}
	return nil
}

// errUnreachable never reaches a client: its connection is closed.
var errUnreachable = &wire.Error{Code: wire.InternalServer, Message: "unreachable"}

// throttles tells whether one part of a batch is to be left undone.
func (c *call) throttles(table string) bool {
	for _, f := range c.cloud.faults {
		if f.Kind == Throttle && f.matches(c, table) && c.cloud.happens(f.Rate) {
			return true
		}
	}
	return false
}

// befalls draws the faults of one statement of a batch. hinders is the error of a statement that does not take place,
// hides that of one that does.
func (c *call) befalls(table string) (hinders, hides error) {
	if c.throttles(table) {
		return c.throttled(), nil
	}
	for _, f := range c.cloud.faults {
		if f.Kind == ServerError && f.matches(c, table) && c.cloud.happens(f.Rate) {
			if c.cloud.dice.IntN(2) == 0 {
				return serverError(), nil
			}
			hides = serverError()
		}
	}
	return nil, hides
}

func serverError() error {
	return &wire.Error{Code: wire.InternalServer, Message: "Internal server error"}
}

// throttled returns one of the errors that say so.
func (c *call) throttled() error {
	if c.streams {
		return &wire.Error{Code: wire.LimitExceeded, Message: "Rate exceeded for the stream"}
	}
	if c.cloud.dice.IntN(2) == 0 {
		return &wire.Error{Code: wire.Throttling, Message: "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly."}
	}
	return &wire.Error{Code: wire.Throughput, Message: "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."}
}

// happens draws whether something of that rate does. What is certain or impossible costs no chance.
func (c *Cloud) happens(rate float64) bool {
	return rate >= 1 || rate > 0 && c.dice.Float64() < rate
}
