package spend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/keywatch"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/stream"
)

// hostile is an id that would colour a terminal and turn the direction of its text.
const hostile = "e\x1b[31m\u202evil"

// spendState is the state of a process with one partition, which has campaign days of account acme.
type spendState struct {
	api.SpendSource
	api.ClusterSource

	spends  []*eventspb.Spend
	scans   atomic.Int32
	failing atomic.Bool

	mu      sync.Mutex
	watches keywatch.Set
}

// WatchSpend reports every commit.
func (s *spendState) WatchSpend(api.SpendWatch) (<-chan struct{}, func(), error) {
	if s.failing.Load() {
		return nil, nil, errors.New("the disk is on fire")
	}
	changed, stop, _ := s.watches.Add(nil)
	return changed, stop, nil
}

// Spend implements api.SpendSource.
func (s *spendState) Spend(_ context.Context, q api.SpendQuery, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &weirpb.AsOf{}
	for _, x := range s.spends {
		if x.Campaign == q.Campaign {
			if err := fn(x, at); err != nil {
				return nil, err
			}
		}
	}
	return []*weirpb.AsOf{at}, nil
}

// Cluster implements api.ClusterSource.
func (s *spendState) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	return nil, errors.New("not used")
}

// commit changes the charges of campaign i. Readers keep the record that they have.
func (s *spendState) commit(i int, micros int64) {
	s.mu.Lock()
	changed := proto.CloneOf(s.spends[i])
	changed.ByDc[0].ChargedMicros = micros
	s.spends[i] = changed
	s.mu.Unlock()
	s.watches.WakeAll()
}

func (s *spendState) Info() api.StateInfo {
	return api.StateInfo{App: "spendcounter", Instance: "a", Partitions: 1}
}

func (s *spendState) Page(context.Context, api.PageQuery) (*api.Page, error) {
	return nil, errors.New("not used")
}

func (s *spendState) Hash(context.Context, int32, time.Duration) (*weirpb.PartitionHash, error) {
	return nil, errors.New("not used")
}

func (s *spendState) Spends(_ context.Context, q api.SpendScan, fn api.SpendFunc) (*weirpb.AsOf, error) {
	s.scans.Add(1)
	if s.failing.Load() {
		return nil, errors.New("the disk is on fire")
	}
	for _, x := range s.spends {
		if key := fmt.Sprint(x.Campaign, x.BudgetDay); key >= string(q.From) && x.BudgetDay >= q.FirstDay && (q.Account == "" || x.Account == q.Account) {
			if q.Part != nil && x.Campaign == "spring" {
				q.Part(&eventspb.PartSpend{LineItem: hostile, Arm: "b", ChargedMicros: 1_000_000, Events: 1})
			}
			if err := fn([]byte(key), x); errors.Is(err, stream.ErrStopScan) {
				break
			} else if err != nil {
				return nil, err
			}
		}
	}
	return &weirpb.AsOf{AppliedMs: 1700000000000, NextOffsets: map[string]int64{"ads.events": 7}}, nil
}

// Peers implements api.PeerSource.
func (s *spendState) Peers(context.Context) ([]api.Peer, error) { return nil, nil }

// Tasks implements api.TaskSource.
func (s *spendState) Tasks(context.Context) ([]*weirpb.Partition, error) { return nil, nil }

// serveSpend serves campaign days and returns them, and the environment of commands.
func serveSpend(t *testing.T) (*spendState, []string) {
	t.Helper()
	s := &spendState{}
	for i, campaign := range []string{hostile, "spring", "winter"} {
		s.spends = append(s.spends, &eventspb.Spend{
			Account: "acme", Campaign: campaign, BudgetDay: 20131108 + int32(i), Currency: "USD",
			ByDc: []*eventspb.SpendByDC{{ServingDc: "local", ChargedMicros: int64(i+1) * 1_500_000, Events: []*eventspb.TypeCount{{Type: 1, Count: uint64(3 - i)}}}},
		})
	}
	s.spends[1].Hours = []*eventspb.HourSpend{{Hour: 384_454, ChargedMicros: 1_000_000, Events: 1}}
	router := api.NewRouter(api.RouterConfig{State: s, Peers: s})
	t.Cleanup(router.Close)
	apps := []api.App{{Name: "spendcounter", Tasks: s, State: router}}
	server := clitest.Serve(t, api.Config{Spend: s, Adjustments: s, Cluster: s, SpendApp: "spendcounter", Apps: apps})
	return s, []string{"WEIR_SERVER=" + server.Addr()}
}

func TestList(t *testing.T) {
	_, env := serveSpend(t)
	const csvHead = "account,campaign,day,currency,charged_micros,refunded_micros,impressions,clicks,events,duplicates\n"
	escaped := `e\x1b[31m\u202evil`
	for _, c := range []struct {
		args     string
		out, err string // parts of the output
	}{
		{"list --account acme", escaped + "  2013-11-08  USD       1.500000  0.000000       3           0\nspring", ""},
		{"list --account acme", "\nas of 2023-11-14 22:13:20 UTC, ", ""},
		{"list --account acme -o wide", "as of partition 0 ads.events@7, applied 2023-11-14T22:13:20.000Z", ""},
		{"list --account acme --from 2013-11-09 -o csv", csvHead + "acme,spring,2013-11-09,USD,3000000,0,2,0,2,0\nacme,winter,2013-11-10,USD,4500000,0,1,0,1,0\n", ""},
		{"list --account acme --limit 1 -o csv", csvHead + "acme," + escaped + ",2013-11-08,USD,1500000,0,3,0,3,0\n", "there are more rows: add --page "},
		{"list --account acme --by account", "account  currency   charged  refunded  events  duplicates\nacme     USD       9.000000", ""},
		{"list --account acme --by account -o jsonl", `{"account":"acme","campaign":"","day":"","currency":"USD","charged_micros":9000000,`, ""},
		{"list --account acme --by day -o yaml", "day: \"2013-11-10\"", ""},
		{"list --account other", "", `account "other" has no spend, as of partition 0`},
		{"list --account acme --by minute", "", "use day, hour, campaign, account, line-item or arm"},
		{"list --account acme --by hour", "hour               currency   charged  refunded  events  duplicates\n2013-11-09T22:00Z  USD       1.000000  0.000000       1           0\nother              USD       8.000000", ""},
		{"list --account acme --by hour -o csv", "account,hour,currency,charged_micros,refunded_micros,events,duplicates\nacme,2013-11-09T22:00Z,USD,1000000,0,1,0\nacme,other,USD,8000000,0,5,0\n", ""},
		{"list --account acme --by line-item", "                    USD       8.000000  0.000000       5           0\n" + escaped + "  USD       1.000000", ""},
		{"list --account acme --by arm -o csv", "account,arm,currency,charged_micros,refunded_micros,events,duplicates\nacme,,USD,8000000,0,5,0\nacme,b,USD,1000000,0,1,0\n", ""},
		{"list --account acme --by arm -o jsonl", `{"account":"acme","arm":"b","currency":"USD","charged_micros":1000000,`, ""},
		{"list --account acme --by hour -o json", `"hour":"2013-11-09T22:00Z"`, ""},
		{"top --day 2013-11-08", "rank  campaign            account  currency   charged  refunded  events\n   1  winter", ""},
		{"top --day 2013-11-08 --by events -n 1 -o csv", "rank," + csvHead + "1,acme," + escaped + ",", ""},
		{"top", "", "request other budget days"},
		{"top --from 2013-11-08 --to 2013-11-10", "rank  campaign            account  currency   charged  refunded  events\n   1  winter", ""},
		{"top --from 2013-11-10 --to 2013-11-08", "", "--from 2013-11-10 is later than --to 2013-11-08"},
		{"top --from yesterday --day today", "", "--day and --from exclude each other"},
	} {
		got := clitest.Run(t, Commands, env, append([]string{"spend"}, strings.Fields(c.args)...)...)
		if (got.Code == 0) != (c.out != "") || !strings.Contains(got.Stdout, c.out) || !strings.Contains(got.Stderr, c.err) || strings.ContainsAny(got.Stdout+got.Stderr, "\x1b\u202e") {
			t.Errorf("%s: code %d\n%s%s", c.args, got.Code, got.Stdout, got.Stderr)
		}
	}
	got := clitest.Run(t, Commands, env, "spend", "top", "--day", "2013-11-08", "-o", "json")
	var doc struct {
		Rows []struct {
			Rank     int
			Campaign string
		}
		AsOf []struct {
			AppliedMs int64 `json:"applied_ms"`
		} `json:"as_of"`
	}
	if err := json.Unmarshal([]byte(got.Stdout), &doc); err != nil || len(doc.Rows) != 3 || doc.Rows[2].Rank != 3 || doc.Rows[2].Campaign != hostile || doc.AsOf[0].AppliedMs == 0 {
		t.Errorf("%s%s: %v", got.Stdout, got.Stderr, err)
	}
}

// TestListPages continues with the token that the command printed.
func TestListPages(t *testing.T) {
	_, env := serveSpend(t)
	args, all := []string{"spend", "list", "--account", "acme", "--limit", "2", "-o", "jsonl"}, ""
	for range 2 {
		got := clitest.Run(t, Commands, env, args...)
		all += got.Stdout
		_, token, _ := strings.Cut(strings.TrimSpace(got.Stderr), "add --page ")
		args = append(args, "--page", token)
	}
	if strings.Count(all, "\n") != 3 || !strings.Contains(all, "winter") {
		t.Errorf("two pages: %s", all)
	}
}

// TestWatch repeats until the command is interrupted. An error between two answers does not end it.
func TestWatch(t *testing.T) {
	s, env := serveSpend(t)
	ctx, interrupt := context.WithCancel(t.Context())
	var out, talk clitest.Buffer
	code := make(chan int, 1)
	go func() {
		code <- clitest.Execute(ctx, Commands, cli.Process{
			Args: []string{"spend", "top", "--day", "2013-11-08", "--watch", "-o", "jsonl"}, Environ: env, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk,
		})
	}()
	waitFor(t, "the first answer", func() bool { return strings.Contains(out.String(), "winter") })
	s.failing.Store(true)
	waitFor(t, "an error", func() bool { return strings.Contains(talk.String(), "on fire") })
	s.failing.Store(false)
	waitFor(t, "a further answer", func() bool { return strings.Count(out.String(), "winter") == 2 })
	interrupt()
	if got := <-code; got != 0 || s.scans.Load() < 3 {
		t.Errorf("exit code %d, %d scans: %s", got, s.scans.Load(), talk.String())
	}
	s.failing.Store(true)
	if got := clitest.Run(t, Commands, env, "spend", "top", "--watch"); got.Code == 0 || !strings.Contains(got.Stderr, "on fire") {
		t.Errorf("the first answer is an error: %+v", got)
	}
}

// TestWatchCampaign shows a campaign again when a commit has changed it, and only then. An error
// between two answers does not end it.
func TestWatchCampaign(t *testing.T) {
	s, env := serveSpend(t)
	ctx, interrupt := context.WithCancel(t.Context())
	var out, talk clitest.Buffer
	code := make(chan int, 1)
	go func() {
		code <- clitest.Execute(ctx, Commands, cli.Process{
			Args: []string{"spend", "show", "--campaign", "winter", "--watch"}, Environ: env, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk,
		})
	}()
	waitFor(t, "the first answer", func() bool { return strings.Contains(out.String(), "4.5") && !s.watches.Empty() })
	s.commit(1, 7_000_000) // of another campaign
	s.commit(2, 8_250_000)
	waitFor(t, "the changed answer", func() bool { return strings.Contains(out.String(), "8.25") && !s.watches.Empty() })
	s.failing.Store(true)
	s.commit(2, 9_750_000)
	waitFor(t, "an error", func() bool { return strings.Contains(talk.String(), "on fire") })
	s.failing.Store(false)
	s.commit(2, 10_125_000)
	waitFor(t, "the last answer", func() bool { return strings.Contains(out.String(), "10.125") })
	interrupt()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d: %s", got, talk.String())
	}
	if n := strings.Count(out.String(), "winter"); n > 4 {
		t.Errorf("%d answers for 3 changes:\n%s", n, out.String())
	}
	if got := clitest.Run(t, Commands, env, "spend", "show", "--campaign", "none", "--watch"); got.Code == 0 || !strings.Contains(got.Stderr, "no spend") {
		t.Errorf("the first answer is an error: %+v", got)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	testlimit.Within(t, what, func(context.Context) error {
		if !done() {
			return errors.New("not yet")
		}
		return nil
	})
}
