// Command join matches orders with their payments by order id. Either may come first. An order
// without a payment within ten minutes of event time is written to topic unpaid. An order id is
// used once:
//
//	orders   (key: order id) ─┐
//	                          ├─▶ join ─▶ paid, unpaid (key: order id)
//	payments (key: order id) ─┘
//
// Both inputs have the same number of partitions, so an order and its payment meet in one task.
package main

import (
	"github.com/weirhq/weir/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

func main() { program.Main(join()) }

const (
	timeoutMs                  = 10 * 60_000
	timeout   stream.TimerKind = "timeout"
)

func join() stream.Processor {
	orders := state.Named(1, "orders", state.String{}, state.String{})
	payments := state.Named(2, "payments", state.String{}, state.String{})
	paid := stream.NewTypedOutput("paid", state.String{})
	// side handles one of the inputs: it looks for the other side, or waits for it.
	side := func(mine, other *state.Table[string, string], text func(mine, other string) string) func(*stream.Context, *stream.Record,
		string) error {
		return func(c *stream.Context, r *stream.Record, value string) error {
			id := string(r.Key)
			match, found, err := other.Get(c, id)
			if err != nil {
				return err
			}
			if !found { // keep it until the other side comes, or until the timer fires
				mine.Put(c, id, value)
				timeout.Set(c, stream.Timer{AtMs: r.TimeMs + timeoutMs, Key: r.Key})
				return nil
			}
			other.Delete(c, id)
			paid.Emit(c, stream.Message{Key: r.Key}, text(value, match))
			return nil
		}
	}
	onTimer := func(c *stream.Context, t stream.Timer) error {
		order, found, err := orders.Get(c, string(t.Key))
		if err != nil {
			return err
		}
		if found {
			c.Emit("unpaid", stream.Message{Key: t.Key, Value: []byte(order)})
			orders.Delete(c, string(t.Key))
		}
		payments.Delete(c, string(t.Key)) // a payment without an order is forgotten
		return nil
	}
	return stream.Processor{
		App: "join", Outputs: stream.OutputTopics("paid", "unpaid"), Tables: state.Tables(orders, payments),
		On: []stream.Callback{
			stream.On("orders", state.String{},
				side(orders, payments, func(order, payment string) string { return order + " paid by " + payment })),
			stream.On("payments", state.String{},
				side(payments, orders, func(payment, order string) string { return order + " paid by " + payment })),
			stream.OnTimer(timeout, onTimer),
		},
	}
}
