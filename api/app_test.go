package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// named is a fakeState of another application.
type named struct {
	*fakeState
	app        string
	partitions int32
}

func (n named) Info() StateInfo {
	i := n.fakeState.Info()
	i.App, i.Partitions = n.app, n.partitions
	return i
}

// process describes a process of several applications.
type process struct {
	t        *testing.T
	instance string
	apps     []App
}

// add adds an application with one running partition, and with state if peers is not nil.
func (p *process) add(name string, partition int32, peers PeerSource) *fakeState {
	f := &fakeState{instance: p.instance}
	f.put(partition, "key of "+name, name)
	app := App{Name: name, Instance: p.instance, Tasks: &fakeCluster{parts: []*weirpb.Partition{{App: name, Partition: partition, State: "running", Instance: p.instance}}}}
	if peers != nil {
		app.State = NewRouter(RouterConfig{State: named{f, name, 2}, Peers: peers})
		app.Savepoints = fakeSavepoints{}
		p.t.Cleanup(app.State.Close)
	}
	p.apps = append(p.apps, app)
	return f
}

// serve starts the process and returns a client and its address.
func (p *process) serve(change func(*Config)) (*Client, string) {
	cfg := config()
	cfg.Apps, cfg.Cluster, cfg.Spend = p.apps, &fakeCluster{}, nil
	if change != nil {
		change(&cfg)
	}
	s := mustNew(p.t, cfg)
	run(p.t, s)
	c := NewClient(s.Addr())
	p.t.Cleanup(c.Close)
	return c, s.Addr()
}

// TestApps asks a process without the spend counter for each of its applications: state,
// partitions and savepoints are of the application that the request names, and one that needs a
// name has one.
func TestApps(t *testing.T) {
	p := &process{t: t, instance: "weir-a"}
	p.add("one", 0, &fakePeers{})
	p.add("two", 1, &fakePeers{})
	p.add("sink", 3, nil)
	c, _ := p.serve(nil)
	for name, partition := range map[string]int32{"one": 0, "two": 1} {
		res, err := c.ScanState(t.Context(), &weirpb.ScanStateRequest{App: name, Table: "1", Partition: &partition})
		if err != nil || len(res.Entries) != 1 || string(res.Entries[0].Value) != name {
			t.Errorf("scan of %s: %v, %v", name, res, err)
		}
		parts, err := partitions(t, c, name)
		if err != nil || len(parts.Partitions) != 2 || parts.Partitions[partition].State != "running" || parts.Partitions[1-partition].State != StateRemote {
			t.Errorf("partitions of %s: %v, %v", name, parts, err)
		}
		if _, err := c.CreateSavepoint(t.Context(), &weirpb.CreateSavepointRequest{App: name, Name: "monday"}); err != nil {
			t.Errorf("savepoint of %s: %v", name, err)
		}
	}
	all, err := partitions(t, c, "")
	if got := list(all); err != nil || got != "one/0 one/1 sink/3 two/0 two/1" {
		t.Errorf("all partitions: %s, %v", got, err)
	}
	for what, ask := range map[string]func() error{
		"scan": func() error {
			_, err := c.ScanState(t.Context(), &weirpb.ScanStateRequest{Table: "1"})
			return err
		},
		"hash": func() error {
			_, err := c.HashState(t.Context(), &weirpb.HashStateRequest{})
			return err
		},
		"savepoint": func() error {
			_, err := c.CreateSavepoint(t.Context(), &weirpb.CreateSavepointRequest{Name: "x"})
			return err
		},
	} {
		if err := ask(); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "set app to one of one, two") {
			t.Errorf("%s without a name: %v", what, err)
		}
	}
	if _, err := c.HashState(t.Context(), &weirpb.HashStateRequest{App: "sink"}); connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "sink has no state") {
		t.Errorf("the state of a sink: %v", err)
	}
	byDefault, _ := p.serve(func(c *Config) { c.DefaultApp = "two" })
	res, err := byDefault.ScanState(t.Context(), &weirpb.ScanStateRequest{Table: "1", Partition: new(int32(1))})
	if err != nil || string(res.Entries[0].Value) != "two" {
		t.Errorf("the default: %v, %v", res, err)
	}
}

func partitions(t *testing.T, c *Client, app string) (*weirpb.ListPartitionsResponse, error) {
	return call(t.Context(), c, callTimeout, c.cluster.ListPartitions, &weirpb.ListPartitionsRequest{App: app})
}

func list(res *weirpb.ListPartitionsResponse) string {
	var got []string
	for _, p := range res.GetPartitions() {
		got = append(got, fmt.Sprintf("%s/%d", p.App, p.Partition))
	}
	return strings.Join(got, " ")
}

// TestUnknownApp: the error for an application that does not run here has the applications that do,
// and the processes that run it, as far as the brokers know them.
func TestUnknownApp(t *testing.T) {
	asked := 0
	p := &process{t: t, instance: "weir-a"}
	p.add("one", 0, &fakePeers{})
	c, _ := p.serve(func(c *Config) {
		c.SpendApp = "spendcounter"
		c.Find = func(_ context.Context, app string) ([]Peer, error) {
			asked++
			switch app {
			case "two":
				return []Peer{{Instance: "weir-b", Endpoint: "10.0.0.2:8080"}, {Instance: "weir-c"}}, nil
			case "broken":
				return nil, errNoBroker
			case "spendcounter":
				return []Peer{{Instance: "weir-s", Endpoint: "10.0.0.9:8080"}}, nil
			}
			return nil, nil
		}
	})
	for name, want := range map[string]string{
		"two":      `app "two" does not run in this process (applications: one): send the request to a process that runs it: weir-b at 10.0.0.2:8080, weir-c, which has no API address`,
		"nosuch":   "no process runs this application: start one, or correct the name",
		"broken":   "the brokers did not answer, so its processes are not known (no broker answers)",
		"bad name": "send the request to a process that runs it, or correct the name",
	} {
		_, err := c.HashState(t.Context(), &weirpb.HashStateRequest{App: name})
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) || !IsAppNotRunning(err) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if _, err := partitions(t, c, name); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("partitions of %s: %v", name, err)
		}
	}
	if asked != 6 { // a name that no application can have is not looked for
		t.Errorf("the brokers were asked %d times", asked)
	}
	_, err := c.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1"})
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "this process (applications: one) does not count spend") || !strings.Contains(err.Error(), "weir-s at 10.0.0.9:8080") {
		t.Errorf("spend: %v", err)
	}
}

// TestFindIsBounded: while the brokers do not answer, requests for unknown applications do not pile
// up behind them.
func TestFindIsBounded(t *testing.T) {
	block := make(chan struct{})
	begun := make(chan struct{}, 2*maxFinding)
	a := newApps(&Config{Find: func(context.Context, string) ([]Peer, error) {
		begun <- struct{}{}
		<-block
		return nil, errors.New("late")
	}})
	done := make(chan struct{})
	for range maxFinding {
		go func() {
			a.whereabouts(context.Background(), "other")
			done <- struct{}{}
		}()
		<-begun
	}
	if text := a.whereabouts(t.Context(), "other"); !strings.HasPrefix(text, "send the request to a process that runs it, or") {
		t.Errorf("%s", text)
	}
	close(block)
	for range maxFinding {
		<-done
	}
}

// TestPartitionsOfSharedProcesses: a process that shares several applications is asked once, and
// reports its sinks, too.
func TestPartitionsOfSharedProcesses(t *testing.T) {
	peers := &fakePeers{}
	b := &process{t: t, instance: "weir-b"}
	b.add("one", 1, peers)
	b.add("two", 0, peers)
	b.add("sink", 4, nil)
	b.add("third", 0, peers) // does not run in a
	requests := 0
	cb, addr := b.serve(nil)
	a := &process{t: t, instance: "weir-a"}
	a.add("one", 0, peers)
	a.add("two", 1, peers)
	a.add("sink", 3, nil)
	ca, own := a.serve(nil)
	peers.set(nil, Peer{Instance: "weir-a", Endpoint: own}, Peer{Instance: "weir-b", Endpoint: addr})
	if _, err := partitions(t, cb, "one"); err != nil {
		t.Fatal(err)
	}
	res, err := partitions(t, ca, "")
	if got := list(res); err != nil || got != "one/0 one/1 sink/3 sink/4 two/0 two/1" {
		t.Errorf("all: %s, %v", got, err)
	}
	for _, p := range res.GetPartitions() {
		if p.State != "running" {
			t.Errorf("%v", p)
		}
		if p.Instance == "weir-b" {
			requests++
		}
	}
	if requests != 3 {
		t.Errorf("%d partitions of weir-b: a second answer was counted", requests)
	}
	if res, err := partitions(t, ca, "sink"); err != nil || list(res) != "sink/3 sink/4" {
		t.Errorf("the sink: %v, %v", res, err)
	}
}
