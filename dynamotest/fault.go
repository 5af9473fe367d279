package dynamotest

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	// Throttle rejects a request with one of the errors that DynamoDB has for throttling. It leaves
	// parts of a BatchGetItem or BatchWriteItem unprocessed, and rejects single statements of a
	// BatchExecuteStatement.
	Throttle FaultKind = "throttle"
	// ServerError answers InternalServerError: in half of the cases before the operation has taken
	// place, in half after it. It also applies to each statement of a BatchExecuteStatement.
	ServerError FaultKind = "server-error"
	// LostAnswer closes the connection instead of answering, after the operation has taken place.
	LostAnswer FaultKind = "lost-answer"
	// Slow delays the answer by Delay, after the operation has taken place.
	Slow FaultKind = "slow"
	// Unreachable closes the connection, and the operation does not take place. With a rate of 1
	// the region is down.
	Unreachable FaultKind = "unreachable"
)

// Fault is a fault that is injected into some requests.
type Fault struct {
	// Kind is the effect of the fault.
	Kind FaultKind
	// Rate is the probability for each request, from 0 to 1.
	Rate float64
	// Delay is the delay of a Slow answer.
	Delay Span
	// Region, Operation (such as PutItem) and Table restrict the fault to requests of that region,
	// operation and table. Each defaults to all.
	Region, Operation, Table string
}

// checkFaults returns an error about the first fault that is not valid.
func checkFaults(faults []Fault) error {
	for i, f := range faults {
		switch {
		case !slices.Contains([]FaultKind{Throttle, ServerError, LostAnswer, Slow, Unreachable}, f.Kind):
			return fmt.Errorf("dynamotest: fault %d has the unknown kind %q: use throttle, server-error, lost-answer, slow or unreachable",
				i, f.Kind)
		case f.Rate < 0 || f.Rate > 1:
			return fmt.Errorf("dynamotest: fault %d, %s, has the rate %g, want a number from 0 to 1", i, f.Kind, f.Rate)
		case f.Delay.Min < 0 || f.Delay.Max < f.Delay.Min:
			return fmt.Errorf("dynamotest: fault %d, %s, has a delay from %s to %s, want 0 <= Min <= Max", i, f.Kind, f.Delay.Min,
				f.Delay.Max)
		}
	}
	return nil
}

// SetFaults replaces all faults from the next request on. Without arguments it ends them. It
// returns an error, and changes nothing, if a fault has an unknown kind, a rate outside 0 to 1 or a
// negative delay.
func (c *Cloud) SetFaults(faults ...Fault) error {
	if err := checkFaults(faults); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = slices.Clone(faults)
	return nil
}

// matches reports whether the fault applies to the request. table is "" if the request names no
// table.
func (f Fault) matches(c *call, table string) bool {
	return (f.Region == "" || f.Region == c.region.name) && (f.Operation == "" || f.Operation == c.operation) &&
		(f.Table == "" || f.Table == table)
}

// drawFaults draws the faults of a request. It returns an error if a fault prevents the operation.
// It records the other faults in c.
func (c *call) drawFaults(table string) error {
	for _, f := range c.cloud.faults {
		if f.Kind == Throttle && c.batch || !f.matches(c, table) || !c.cloud.chance(f.Rate) {
			continue
		}
		switch f.Kind {
		case Throttle:
			return c.throttled()
		case ServerError:
			if c.cloud.rng.IntN(2) == 0 {
				return serverError()
			}
			c.failed = true
		case LostAnswer:
			c.lost = true
		case Slow:
			c.delay += f.Delay.draw(c.cloud.rng)
		case Unreachable:
			c.lost = true
			return errUnreachable
		}
	}
	return nil
}

// errUnreachable is not sent to the client: its connection is closed.
var errUnreachable = &wire.Error{Code: wire.InternalServer, Message: "unreachable"}

// drawThrottle draws whether one part of a batch is throttled.
func (c *call) drawThrottle(table string) bool {
	for _, f := range c.cloud.faults {
		if f.Kind == Throttle && f.matches(c, table) && c.cloud.chance(f.Rate) {
			return true
		}
	}
	return false
}

// drawStatementFaults draws the faults of one statement of a batch. If before is not nil, the
// statement fails with it and has no effect. If after is not nil, the statement takes effect and
// then fails with it.
func (c *call) drawStatementFaults(table string) (before, after error) {
	if c.drawThrottle(table) {
		return c.throttled(), nil
	}
	for _, f := range c.cloud.faults {
		if f.Kind == ServerError && f.matches(c, table) && c.cloud.chance(f.Rate) {
			if c.cloud.rng.IntN(2) == 0 {
				return serverError(), nil
			}
			after = serverError()
		}
	}
	return nil, after
}

func serverError() error {
	return &wire.Error{Code: wire.InternalServer, Message: "Internal server error"}
}

// throttled returns one of DynamoDB's errors about throttling.
func (c *call) throttled() error {
	if c.streams {
		return &wire.Error{Code: wire.LimitExceeded, Message: "Rate exceeded for the stream"}
	}
	if c.cloud.rng.IntN(2) == 0 {
		return &wire.Error{
			Code:    wire.Throttling,
			Message: "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly.",
		}
	}
	return &wire.Error{
		Code:    wire.Throughput,
		Message: "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.",
	}
}

// chance returns true with the given probability. It draws no random number for a rate of 0 or 1.
func (c *Cloud) chance(rate float64) bool {
	return rate >= 1 || rate > 0 && c.rng.Float64() < rate
}
