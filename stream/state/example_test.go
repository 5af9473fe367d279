package state_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// The clicks of users become visits, which end 30 seconds after their last click. A visit has the
// country that another topic has for the user.
func ExampleSessions() {
	type click struct {
		Page string `json:"page"`
	}
	type visit struct {
		Clicks  int    `json:"clicks"`
		FirstMs int64  `json:"first_ms"`
		Country string `json:"country"`
	}
	countries := state.Named(2, "countries", state.String{}, state.String{})
	visits := state.NewSessions(1, "visits", state.String{}, 30*time.Second, func(a, b int) int { return a + b })
	out := stream.NewTypedOutput("visits", state.JSON[visit]{})
	processor := stream.Processor{
		App: "visits", Outputs: stream.OutputTopics("visits"), Tables: state.Tables(countries, visits),
		On: []stream.Callback{
			state.Keep("users", countries),
			stream.On("clicks", state.JSON[click]{}, func(c *stream.Context, r *stream.Record, v click) error {
				if v.Page == "" {
					return stream.Rejectf("no_page", "a click needs a page")
				}
				return visits.Add(c, string(r.Key), r.TimeMs, 1)
			}),
			visits.OnEnd(func(c *stream.Context, user string, s state.Session[int]) error {
				country, _, err := countries.Get(c, user)
				out.Emit(c, stream.Message{Key: []byte(user), TimeMs: s.LastMs}, visit{s.Value, s.FirstMs, country})
				return err
			}),
		},
	}

	r := streamtest.New(new(testing.T), streamtest.Options{Processor: processor})
	for _, second := range []int64{100, 110, 500, 900} {
		r.AppendTo("clicks", stream.Record{Key: []byte("ann"), Value: []byte(`{"page":"/"}`), TimeMs: second * 1000})
	}
	r.AppendTo("clicks", stream.Record{Key: []byte("ann"), Value: []byte(`{}`), TimeMs: 900_000})
	r.AppendTo("users", stream.Record{Key: []byte("ann"), Value: []byte("at"), TimeMs: 900_000}) // after the clicks
	r.FoldAll()
	r.Commit(1)
	for _, c := range r.TakeOutputs() {
		fmt.Printf("%s: %s\n", c.Key, c.Value)
	}
	for _, x := range r.TakeRejects() {
		fmt.Println("rejected:", x.Reason)
	}
	// Output:
	// ann: {"clicks":2,"first_ms":100000,"country":"at"}
	// ann: {"clicks":1,"first_ms":500000,"country":"at"}
	// rejected: no_page
}
