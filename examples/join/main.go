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
	"github.com/weirhq/weir/examples/internal/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

func main() { program.Main(join()) }

const timeoutMs = 10 * 60_000

func join() stream.Processor {
	orders := state.Named("orders", state.String{}, state.String{})
	payments := state.Named("payments", state.String{}, state.String{})
	onRecord := func(c *stream.Context, r *stream.Record) error {
		id, mine, other := string(r.Key), orders, payments
		if c.Topic() == "payments" {
			mine, other = payments, orders
		}
		match, found, err := other.Get(c, id)
		if err != nil {
			return err
		}
		if !found { // keep it until the other side comes, or until the timer fires
			mine.Put(c, id, string(r.Value))
			c.SetTimer(stream.Timer{AtMs: r.TimeMs + timeoutMs, Key: r.Key})
			return nil
		}
		order, payment := match, string(r.Value)
		if c.Topic() == "orders" {
			order, payment = payment, match
		}
		other.Delete(c, id)
		c.Emit("paid", stream.Message{Key: r.Key, Value: []byte(order + " paid by " + payment)})
		return nil
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
		App: "join", Inputs: []string{"orders", "payments"}, Outputs: stream.OutputTopics("paid", "unpaid"),
		Tables: state.Tables(orders, payments),
		New:    stream.EachRecordWithTimers(onRecord, onTimer),
	}
}
