// Command visits groups the page views of a user into visits, which end when the user has had no
// view for 30 minutes of event time. A finished visit is written to topic visits, with the name and
// the country that topic users has then:
//
//	views (key: user id, value: JSON) ─┐
//	                                   ├─▶ visits ─▶ visits (key: user id, value: JSON)
//	users (key: user id, value: JSON) ─┘
//
// A view of an unknown user goes to the dead-letter topic, with the reason unknown_user. With
// -listen 127.0.0.1:8090 every process answers queries about all users:
//
//	curl 127.0.0.1:8090/query/open/USER     # the visits that have not ended
//	curl 127.0.0.1:8090/query/users/USER
package main

import (
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

type view struct {
	Page string `json:"page"`
}

type user struct {
	Name    string `json:"name"`
	Country string `json:"country"`
}

type visit struct {
	user
	Views   int   `json:"views"`
	FirstMs int64 `json:"first_ms"`
	LastMs  int64 `json:"last_ms"`
}

func main() {
	p, queries := visits()
	cfg := program.Config{Queries: queries}
	cfg.Main(p)
}

func visits() (stream.Processor, []api.Query) {
	users := state.Named(1, "users", state.String{}, state.JSON[user]{})
	open := state.NewSessions(2, "open", state.String{}, 30*time.Minute,
		func(a, b int) int { return a + b })
	ended := stream.NewTypedOutput("visits", state.JSON[visit]{})
	p := stream.Processor{
		App: "visits", Outputs: stream.OutputTopics("visits"), Tables: state.Tables(users, open),
		On: []stream.Callback{
			state.Keep("users", users),
			stream.On("views", state.JSON[view]{}, func(c *stream.Context, r *stream.Record, v view) error {
				switch _, known, err := users.Get(c, string(r.Key)); {
				case err != nil:
					return err
				case !known:
					return stream.Rejectf("unknown_user", "topic users has no user %q yet", r.Key)
				case v.Page == "":
					return stream.Rejectf("no_page", "a view needs a page")
				}
				return open.Add(c, string(r.Key), r.TimeMs, 1)
			}),
			open.OnEnd(func(c *stream.Context, id string, s state.Session[int]) error {
				u, _, err := users.Get(c, id)
				ended.Emit(c, stream.Message{Key: []byte(id)}, visit{u, s.Value, s.FirstMs, s.LastMs})
				return err
			}),
		},
	}
	return p, []api.Query{program.NewQuery("visits", "open", open.Get), program.NewQuery("visits", "users", users.Get)}
}
