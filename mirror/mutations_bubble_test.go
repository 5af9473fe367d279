//go:build synctests

package mirror

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// TestJudge: the checker of the copies notices each way in which copies can be wrong.
func TestJudge(t *testing.T) {
	header := func(offset, previous int64) stream.Header {
		return stream.Header{Key: events.OriginHeader, Value: events.AppendOrigin(nil, events.Origin{Topic: [16]byte{1}, Partition: 2, Offset: offset, Previous: previous})}
	}
	make4 := func() (source, copies []stream.Record) {
		previous := int64(-1)
		for _, offset := range []int64{0, 1, 4, 5} { // 2 and 3 are markers
			r := stream.Record{Key: []byte("k"), Value: []byte{byte(offset)}, Offset: offset, TimeMs: 100 + offset, Headers: []stream.Header{{Key: "h", Value: []byte("1")}}}
			source = append(source, r)
			r.Headers = append(slices.Clone(r.Headers), header(offset, previous))
			copies = append(copies, r)
			previous = offset
		}
		return source, copies
	}
	if source, copies := make4(); len(judge(2, source, copies)) > 0 || len(judge(2, nil, nil)) > 0 {
		t.Fatal("the checker refuses right copies")
	}
	for name, mutate := range map[string]func([]stream.Record) []stream.Record{
		"one is missing":           func(c []stream.Record) []stream.Record { return slices.Delete(c, 1, 2) },
		"the last is missing":      func(c []stream.Record) []stream.Record { return c[:3] },
		"one is twice":             func(c []stream.Record) []stream.Record { return slices.Insert(c, 1, c[0]) },
		"the last is twice":        func(c []stream.Record) []stream.Record { return append(c, c[3]) },
		"two are exchanged":        func(c []stream.Record) []stream.Record { c[1], c[2] = c[2], c[1]; return c },
		"no header":                func(c []stream.Record) []stream.Record { c[2].Headers = c[2].Headers[:1]; return c },
		"a header is lost":         func(c []stream.Record) []stream.Record { c[2].Headers = c[2].Headers[1:]; return c },
		"a marker counts":          func(c []stream.Record) []stream.Record { c[2].Headers[1] = header(4, 3); return c },
		"another value":            func(c []stream.Record) []stream.Record { c[3].Value = []byte("x"); return c },
		"no key":                   func(c []stream.Record) []stream.Record { c[3].Key = nil; return c },
		"the time of the copying":  func(c []stream.Record) []stream.Record { c[3].TimeMs = 7; return c },
		"the topic is not stated":  func(c []stream.Record) []stream.Record { copy(c[0].Headers[1].Value, make([]byte, 16)); return c },
		"the place of another one": func(c []stream.Record) []stream.Record { c[3].Headers[1] = header(4, 1); return c },
	} {
		source, copies := make4()
		if len(judge(2, source, mutate(copies))) == 0 {
			t.Errorf("%s: the checker does not notice it", name)
		}
	}
}

// TestMutations: a mirror that resumes one record too early or too late, or at the start, is
// noticed.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes under the race detector, and finds no data race that TestKills does not find")
	}
	for name, mutate := range map[string]func(*position){
		"none":      func(*position) {},
		"too early": func(p *position) { p.Next = max(0, p.Next-1) },
		"too late":  func(p *position) { p.Next++ },
		"forgotten": func(p *position) { *p = start() },
		"no last":   func(p *position) { p.Last = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := inRuntime(t, 1, nil, func(x *fixture) {
				x.mutate = mutate
				for range 6 {
					p := x.start("a")
					for range 5 {
						x.peers["us"].Produce("events", 0, x.messages(4)...)
						time.Sleep(time.Second)
					}
					p.Kill()
				}
				x.start("a")
				x.peers["us"].Produce("events", 0, x.messages(4)...)
				x.k.CaughtUp()
			})
			if (err == nil) != (name == "none") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// mutated returns a processor whose tasks find other positions than they have saved.
func mutated(p stream.Processor, mutate func(*position)) stream.Processor {
	made := p.New
	p.New = func(t stream.Task) (stream.Handler, error) {
		get := t.Get
		t.Get = func(table byte, key []byte) ([]byte, error) {
			value, err := get(table, key)
			if table != positionTable || value == nil || err != nil {
				return value, err
			}
			var at position
			if err := json.Unmarshal(value, &at); err != nil {
				return nil, err
			}
			mutate(&at)
			return json.Marshal(at)
		}
		return made(t)
	}
	return p
}
