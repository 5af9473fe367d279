package stream_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// show commits and prints what was emitted and what was refused.
func show(r *streamtest.Runner) {
	r.FoldAll()
	r.Commit(1)
	for _, c := range r.TakeOutputs() {
		fmt.Printf("%s: %s=%s\n", c.To.Output.Name, c.Key, c.Value)
	}
	for _, x := range r.TakeRejects() {
		fmt.Printf("rejected at offset %d: %s: %s\n", x.Offset, x.Reason, x.Detail)
	}
}

// The stock of a shop: state in a typed table, an output by name, and records that are refused.
func ExampleEachRecord() {
	stock := state.Named(1, "stock", state.String{}, state.Int64{})
	processor := stream.Processor{
		App: "stock", Inputs: []string{"movements"}, Outputs: stream.OutputTopics("stock"), Tables: state.Tables(stock),
		New: stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
			change, err := strconv.ParseInt(string(r.Value), 10, 64)
			if err != nil {
				return stream.Rejectf("not_a_number", "%q", r.Value)
			}
			n, _, err := stock.Get(c, string(r.Key))
			if err != nil {
				return err
			}
			if n+change < 0 {
				return stream.Rejectf("too_few", "there are %d", n)
			}
			stock.Put(c, string(r.Key), n+change)
			c.Emit("stock", stream.Message{Key: r.Key, Value: strconv.AppendInt(nil, n+change, 10)})
			return nil
		}),
	}

	r := streamtest.New(new(testing.T), streamtest.Options{Processor: processor})
	for _, movement := range []string{"pen=10", "pen=-3", "pen=-8", "pen=many"} {
		item, n, _ := strings.Cut(movement, "=")
		r.AppendTo("movements", stream.Record{Key: []byte(item), Value: []byte(n)})
	}
	show(r)
	// Output:
	// stock: pen=10
	// stock: pen=7
	// rejected at offset 2: too_few: there are 7
	// rejected at offset 3: not_a_number: "many"
}

// The orders of a shop get the names of their customers, which come from another topic: a function
// and a codec for each input, and an output with a codec. An order that cannot be read is rejected.
func ExampleOn() {
	type order struct {
		Cents int64  `json:"cents"`
		Name  string `json:"name"`
	}
	names := state.Named(1, "names", state.String{}, state.String{})
	named := stream.NewTypedOutput("named", state.JSON[order]{})
	processor := stream.Processor{
		App: "named-orders", Outputs: stream.OutputTopics("named"), Tables: state.Tables(names),
		On: []stream.Callback{
			state.Keep("customers", names),
			stream.On("orders", state.JSON[order]{}, func(c *stream.Context, r *stream.Record, o order) (err error) {
				if o.Name, _, err = names.Get(c, string(r.Key)); err != nil {
					return err
				}
				named.Emit(c, stream.Message{Key: r.Key}, o)
				return nil
			}),
		},
	}

	r := streamtest.New(new(testing.T), streamtest.Options{Processor: processor})
	r.AppendTo("customers", stream.Record{Key: []byte("7"), Value: []byte("Ann")})
	for _, value := range []string{`{"cents":250}`, `{"cents":"many"}`} {
		r.AppendTo("orders", stream.Record{Key: []byte("7"), Value: []byte(value)})
	}
	show(r)
	// Output:
	// named: 7={"cents":250,"name":"Ann"}
	// rejected at offset 1: undecodable: json: cannot unmarshal string into Go struct field order.cents of type int64
}

// The first record of a key in ten seconds of event time passes, the others do not.
func ExampleEachRecordWithTimers() {
	const windowMs = 10_000
	seen := state.Named(1, "seen", state.String{}, state.Bytes{})
	processor := stream.Processor{
		App: "distinct", Inputs: []string{"alerts"}, Outputs: stream.OutputTopics("distinct"), Tables: state.Tables(seen),
		New: stream.EachRecordWithTimers(
			func(c *stream.Context, r *stream.Record) error {
				_, again, err := seen.Get(c, string(r.Key))
				if err != nil || again {
					return err
				}
				seen.Put(c, string(r.Key), nil)
				c.SetTimer(stream.Timer{AtMs: r.TimeMs + windowMs, Key: r.Key})
				c.Emit("distinct", stream.Message{Key: r.Key, Value: r.Value})
				return nil
			},
			func(c *stream.Context, t stream.Timer) error {
				seen.Delete(c, string(t.Key))
				return nil
			}),
	}

	r := streamtest.New(new(testing.T), streamtest.Options{Processor: processor})
	for i, second := range []int64{100, 104, 109, 110, 111} {
		r.AppendTo("alerts", stream.Record{Key: []byte("disk"), Value: fmt.Append(nil, "alert ", i), TimeMs: second * 1000})
	}
	show(r)
	// Output:
	// distinct: disk=alert 0
	// distinct: disk=alert 3
}

// A topic with a partitioner of its own, and one whose partition is given.
func ExampleOutput() {
	processor := stream.Processor{
		App: "router", Inputs: []string{"requests"},
		Outputs: []stream.Output{
			{Name: "by_length", Topic: "requests.v2", Partitioner: func(key []byte, partitions int32) int32 { return int32(len(key)) % partitions }},
			{Name: "audit", Topic: "audit"},
		},
		New: stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
			c.Emit("by_length", stream.Message{Key: r.Key, Value: r.Value, TimeMs: r.TimeMs})
			c.EmitTo("audit", 0, stream.Message{Key: r.Key, Headers: []stream.Header{{Key: "topic", Value: []byte(c.Topic())}}})
			return nil
		}),
	}

	r := streamtest.New(new(testing.T), streamtest.Options{Processor: processor, Partition: 3})
	r.AppendTo("requests", stream.Record{Key: []byte("abcde"), TimeMs: 7})
	r.FoldAll()
	r.Commit(1)
	for _, c := range r.TakeOutputs() {
		fmt.Println(c.To.Output.Topic, "partition", c.To.PartitionOf(c.Key, 3, 4), "time", c.To.TimeMs, "headers", len(c.To.Headers))
	}
	// Output:
	// requests.v2 partition 1 time 7 headers 0
	// audit partition 0 time 0 headers 1
}
