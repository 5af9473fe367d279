package stream

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestComplete(t *testing.T) {
	shared := OutputTopics("a", "b")
	shared[0].Name = ""
	ok := Processor{App: "app", Inputs: []string{"in"}, Outputs: shared, New: func(Task) (Handler, error) { return nil, nil }}
	p := ok
	if err := p.Complete(); err != nil {
		t.Fatal(err)
	}
	if p.Changelog != "app.changelog" || p.DLQ != "app.dlq" || p.Outputs[0].Name != "a" || shared[0].Name != "" || p.Time.Grain != time.Second {
		t.Errorf("the defaults are %+v", p)
	}
	if got := p.WrittenTopics(); !slices.Equal(got, []string{"app.changelog", "app.dlq", "a", "b"}) {
		t.Errorf("it writes %v", got)
	}
	first := func([]byte, int32) int32 { return 0 }
	for _, x := range []struct {
		what string
		make func(*Processor)
		want string
	}{
		{"no app", func(p *Processor) { p.App = "" }, "not a legal name"},
		{"no input", func(p *Processor) { p.Inputs = nil }, "has no input topic"},
		{"no New", func(p *Processor) { p.New = nil }, "New is nil"},
		{"an output without a topic", func(p *Processor) { p.Outputs = []Output{{Name: "x"}} }, "not a legal name"},
		{"two of one name", func(p *Processor) { p.Outputs = []Output{{Name: "x", Topic: "a"}, {Name: "x", Topic: "b"}} }, `two outputs are named "x"`},
		{"two partitioners of one topic", func(p *Processor) {
			p.Outputs = []Output{{Name: "x", Topic: "a"}, {Name: "y", Topic: "a", Partitioner: first}}
		}, "a topic has one partitioner"},
		{"changelog is an output", func(p *Processor) { p.Changelog = "a" }, "is also an input or an output"},
		{"changelog is the dead-letter topic", func(p *Processor) { p.DLQ = p.App + ".changelog" }, "is both the changelog and the dead-letter topic"},
		{"changelog is an input", func(p *Processor) { p.Changelog = "in" }, "is also an input or an output"},
		{"lateness", func(p *Processor) { p.Time.Lateness = -1 }, "lateness"},
	} {
		p := ok
		if x.make(&p); p.Complete() == nil || !strings.Contains(p.Complete().Error(), x.want) {
			t.Errorf("%s: %v", x.what, p.Complete())
		}
	}
	two := ok
	two.Outputs = []Output{{Name: "x", Topic: "a"}, {Name: "y", Topic: "a"}}
	if err := two.Complete(); err != nil || len(two.WrittenTopics()) != 3 {
		t.Errorf("two outputs of one topic: %v, %v", err, two.WrittenTopics())
	}
}
