package exampletest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/internal/testlimit"
)

// visitRun is a run of two processes of examples/visits.
type visitRun struct {
	t         *testing.T
	in        *visitInput
	program   string
	broker    string
	dirs      [2]string
	processes [2]atomic.Pointer[Process]
	client    *kgo.Client
	http      *http.Client
	sentMs    atomic.Int64 // time of the newest view that was sent
	answers   map[int]int  // to queries, by status; 0: none
}

// RunVisits runs two processes of examples/visits on a broker while it sends views, and kills the
// second one with SIGKILL at random moments. It compares the visits and the dead letters with the
// input, and each answer to queries during the run. dir is of Build.
func RunVisits(t *testing.T, dir, broker string, rng *rand.Rand) {
	r := &visitRun{
		t: t, in: newVisitInput(rng), program: filepath.Join(dir, "visits"), broker: broker, dirs: [2]string{t.TempDir(), t.TempDir()},
		http: &http.Client{Transport: &http.Transport{}}, answers: map[int]int{},
	}
	defer r.http.CloseIdleConnections()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	r.client = cl
	ctx, stop := context.WithCancel(testlimit.Context(t))
	defer stop()
	t.Cleanup(func() {
		for i := range r.processes {
			if p := r.processes[i].Load(); t.Failed() && p != nil {
				t.Logf("log of process %d:\n%s", i, &p.stderr)
			}
		}
	})
	r.start(0)
	r.start(1)
	example{inputs: []*kgo.Record{{Topic: "users"}, {Topic: "views"}}, outputs: []string{"visits"}}.awaitTopics(ctx, t,
		r.processes[0].Load(), broker)
	r.move(ctx, r.in.users, "at", r.in.beginMs)
	r.within(ctx, "the second process has its share", func(context.Context) error {
		if n := ran(r.processes[1].Load()); n < visitParts/2 {
			return fmt.Errorf("the second process runs %d partitions", n)
		}
		return nil
	})

	var load, queries sync.WaitGroup
	asker := rand.New(rand.NewPCG(rng.Uint64(), 0))
	load.Go(func() { r.send(ctx) })
	queries.Go(func() { r.query(ctx, asker) })
	var killed []int // partitions of each
	for range visitKills {
		pause.For(ctx, time.Duration(rng.Int64N(int64(2*time.Second))))
		p := r.processes[1].Load()
		p.Kill()
		killed = append(killed, ran(p))
		r.start(1)
	}
	load.Wait()
	r.close(ctx)
	r.await(ctx, "visits", r.in.count())
	r.await(ctx, "visits.dlq", len(r.in.reasons))
	r.checkOpen(ctx)
	stop()
	queries.Wait()
	for i := range r.processes {
		r.processes[i].Load().Stop()
	}
	r.checkVisits(r.committed(t.Context(), "visits"))
	r.checkRejected(r.committed(t.Context(), "visits.dlq"))
	t.Logf("%d views, %d visits, %d rejected; killed with %v partitions; answers by status: %v",
		len(r.in.views), r.in.count(), len(r.in.reasons), killed, r.answers)
}

// ran returns how many partitions the process has run.
func ran(p *Process) int { return strings.Count(p.stderr.String(), "partition_running") }

// start starts process 0 or 1.
func (r *visitRun) start(i int) {
	r.processes[i].Store(
		Start(r.t, r.program, nil, "-brokers", r.broker, "-dir", r.dirs[i], "-instance", "visits-"+strconv.Itoa(i), "-partitions",
			strconv.Itoa(visitParts)))
}

// send sends the views in the order of their times. Half of the users move in the middle.
func (r *visitRun) send(ctx context.Context) {
	const chunk = 50
	for list := range slices.Chunk(r.in.views, chunk) {
		if last := list[len(list)-1].Timestamp.UnixMilli(); last-r.in.beginMs > visitsSpanMs/2 &&
			r.sentMs.Load()-r.in.beginMs <= visitsSpanMs/2 {
			sentMs := r.sentMs.Load()
			r.move(ctx, r.in.moved(), "be", sentMs)
			r.in.settle(sentMs)
		}
		r.sentMs.Store(list[len(list)-1].Timestamp.UnixMilli())
		if err := r.client.ProduceSync(ctx, list...).FirstErr(); err != nil {
			r.t.Errorf("produce: %v", err)
			return
		}
		pause.For(ctx, 100*time.Millisecond)
	}
}

// move gives users a country, and waits until the processes know it.
func (r *visitRun) move(ctx context.Context, users []string, country string, atMs int64) {
	var list []*kgo.Record
	for _, user := range users {
		value := fmt.Sprintf(`{"name":"Name of %s","country":%q}`, user, country)
		list = append(list, &kgo.Record{Topic: "users", Key: []byte(user), Value: []byte(value), Timestamp: time.UnixMilli(atMs)})
	}
	if err := r.client.ProduceSync(ctx, list...).FirstErr(); err != nil {
		r.t.Errorf("produce: %v", err)
	}
	for _, user := range users {
		r.within(ctx, user+" in "+country, func(ctx context.Context) error {
			code, body := r.ask(ctx, 0, "users/"+user)
			if code != http.StatusOK || !strings.Contains(body, strconv.Quote(country)) {
				return fmt.Errorf("%d %s", code, body)
			}
			return nil
		})
	}
}

// close sends the views after which all visits have ended, in all partitions.
func (r *visitRun) close(ctx context.Context) {
	var list []*kgo.Record
	at := r.in.beginMs + closingMs
	r.move(ctx, r.in.closers, "at", at)
	r.sentMs.Store(at)
	for _, user := range r.in.closers {
		list = append(list, &kgo.Record{Topic: "views", Key: []byte(user), Value: []byte(`{"page":"/"}`), Timestamp: time.UnixMilli(at)})
	}
	if err := r.client.ProduceSync(ctx, list...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// ask asks a process and returns the status and the body of the answer; 0 and the error if there is
// none.
func (r *visitRun) ask(ctx context.Context, process int, path string) (int, string) {
	at := regexp.MustCompile(`"data":"([^"]+)"`).FindStringSubmatch(r.processes[process].Load().stderr.String())
	if at == nil {
		return 0, "it has no address yet"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at[1]+"/query/"+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	res, err := r.http.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(body)
}

// query asks both processes for the open visits of users until ctx ends.
func (r *visitRun) query(ctx context.Context, rng *rand.Rand) {
	users := append(slices.Clone(r.in.users[:visitUsers]), "ghost-4", "ghost-9")
	for n := 0; ctx.Err() == nil; n++ {
		user := users[rng.IntN(len(users))]
		code, body := r.ask(ctx, n%2, "open/"+user)
		if ctx.Err() != nil {
			return
		}
		r.answers[code]++
		var open []openVisit
		why := ""
		switch code {
		case http.StatusOK:
			if err := json.Unmarshal([]byte(body), &open); err != nil {
				why = err.Error()
			} else {
				why = r.in.impossible(user, open, r.sentMs.Load())
			}
		case 0, http.StatusNotFound, http.StatusServiceUnavailable, http.StatusGatewayTimeout: // killed; none; a takeover
		default:
			why = "unexpected status"
		}
		if why != "" {
			r.t.Errorf("open visits of %s: %d %s: %s", user, code, body, why)
		}
		pause.For(ctx, 5*time.Millisecond)
	}
}

// checkOpen: at the end only the closers have an open visit, in the answers of both processes.
func (r *visitRun) checkOpen(ctx context.Context) {
	for process := range r.processes {
		for i, user := range r.in.users {
			want := "404"
			if i >= visitUsers {
				at := r.in.visits[user][0].times[0]
				want = fmt.Sprintf("200 [{\"first_ms\":%d,\"last_ms\":%d,\"value\":1}]\n", at, at)
			}
			r.within(ctx, "open visits of "+user, func(ctx context.Context) error {
				if code, body := r.ask(ctx, process, "open/"+user); !strings.HasPrefix(fmt.Sprint(code, " ", body), want) {
					return fmt.Errorf("%d %s, want %s", code, body, want)
				}
				return nil
			})
		}
	}
}

// within waits until try returns nil. The test fails if the first process ends before.
func (r *visitRun) within(ctx context.Context, what string, try func(context.Context) error) {
	r.t.Helper()
	p := r.processes[0].Load()
	err := testlimit.Poll(ctx, func(ctx context.Context) error {
		select {
		case <-p.ended:
			return nil
		default:
			return try(ctx)
		}
	})
	select {
	case <-p.ended:
		err = fmt.Errorf("the first process ended: %w\n%s", p.err, &p.stderr)
	default:
	}
	if err != nil {
		r.t.Errorf("%s: %v", what, err)
	}
}
