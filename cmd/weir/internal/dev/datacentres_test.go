package dev

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

func TestDatacentreFaults(t *testing.T) {
	dcs := []string{"eu", "us-1", "us-2"}
	all := []route{
		{"eu", "spendcounter", "eu"},
		{"eu", "mirror", "us-1"},
		{"us-1", "push", "eu"},
		{"us-1", "mirror", "us-2"},
		{"us-2", "push", "us-1"},
		{"us-1", "spendcounter", "us-1"},
		{"us-1", "load", "us-1"},
		{"eu", "pacing", "us-1"},
	}
	for text, want := range map[string]struct {
		begins        string
		cuts          string // indexes in all
		after, length time.Duration
	}{
		"spend=us-1":            {"the spend counter of us-1 is cut off from all brokers", "5", 30 * time.Second, time.Minute},
		"mirror=us-1@5s":        {"the mirror of us-1 is cut off from all brokers", "3", 5 * time.Second, time.Minute},
		"pacing=eu":             {"the pacing of eu is cut off from all brokers", "7", 30 * time.Second, time.Minute},
		"push=us-2@0s+2m":       {"the push of us-2 is cut off from all brokers", "4", 0, 2 * time.Minute},
		"kafka=us-1+0s":         {"the Kafka of us-1 is down", "14567", 30 * time.Second, 0},
		"link=us-1-eu@1s+1s":    {"us-1 and eu are cut from each other", "127", time.Second, time.Second},
		"link=us-1-us-2@1m+10s": {"us-1 and us-2 are cut from each other", "34", time.Minute, 10 * time.Second},
	} {
		f, err := parseDCFault(text, dcs)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		cuts := ""
		for i, r := range all {
			if f.cuts(r) {
				cuts += fmt.Sprint(i)
			}
		}
		if f.begins != want.begins || cuts != want.cuts || f.after != want.after || f.length != want.length {
			t.Errorf("%s: %q cuts %s after %v for %v", text, f.begins, cuts, f.after, f.length)
		}
	}
	for text, want := range map[string]string{
		"duplicate":      "does not exist with --dcs",
		"spend":          "does not exist with --dcs",
		"spend=ap":       `no datacentre is called "ap"`,
		"link=eu":        `"eu" is not a pair of datacentres`,
		"link=eu-eu":     `"eu-eu" is not a pair of datacentres`,
		"spend=eu@soon":  "is not a duration",
		"spend=eu@1s+-1": "is not a duration",
	} {
		if _, err := parseDCFault(text, dcs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestNetwork: a cut closes the connections of its routes and refuses new ones until it is healed.
func TestNetwork(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	n := newNetwork(30 * time.Millisecond)
	dial := func(from, role, to string) (net.Conn, error) {
		return n.dialer(from)(role, to)(t.Context(), "tcp", l.Addr().String())
	}
	echo := func(c net.Conn) (took time.Duration, err error) {
		began := time.Now()
		if _, err := c.Write([]byte("x")); err != nil {
			return 0, err
		}
		_, err = io.ReadFull(c, make([]byte, 1))
		return time.Since(began), err
	}
	far, err1 := dial("eu", "mirror", "us")
	near, err2 := dial("eu", "mirror", "eu")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if took, err := echo(far); err != nil || took < 30*time.Millisecond {
		t.Errorf("to another datacentre: %v %v", took, err)
	}
	heal := n.cut("link=us-eu", func(r route) bool { return r.to == "us" })
	if _, err := echo(far); err == nil {
		t.Error("a connection works that is cut")
	}
	_, err = dial("eu", "mirror", "us")
	if err == nil || !strings.Contains(err.Error(), "cut by --fault link=us-eu") {
		t.Errorf("a new connection: %v", err)
	}
	if dialed := new(net.OpError); !errors.As(err, &dialed) || dialed.Op != "dial" {
		t.Errorf("a client does not take %#v for a broker that is down: its records fail", err)
	}
	if _, err := echo(near); err != nil {
		t.Errorf("another route: %v", err)
	}
	heal()
	far, err = dial("eu", "mirror", "us")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := echo(far); err != nil {
		t.Errorf("after the cut: %v", err)
	}
	if err := errors.Join(far.Close(), near.Close()); err != nil || len(n.links) != 0 {
		t.Errorf("%v, %d links", err, len(n.links))
	}
}

func TestChoiceReporter(t *testing.T) {
	var lines []string
	var shards []*weirpb.ShardDatasets
	choice := func(mode, dc, why string) *weirpb.ShardDatasets {
		return &weirpb.ShardDatasets{Choice: &weirpb.DatasetChoice{Mode: mode, Dc: dc, Reason: why}}
	}
	own, other := choice("normal", "eu", "eu is the own datacentre"), choice("normal", "us", "eu lags")
	r := choiceReporter{
		dc: "eu", describe: describeChoices, datasets: func() []*weirpb.ShardDatasets { return shards },
		report: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) },
	}
	for _, step := range []struct {
		shards []*weirpb.ShardDatasets
		want   string
	}{
		{nil, ""},
		{[]*weirpb.ShardDatasets{own, own}, "eu uses the dataset of eu"},
		{[]*weirpb.ShardDatasets{own, other}, "eu uses the dataset of eu for 1 of 2 shards, the dataset of us for 1 of 2 shards, because eu lags"},
		{[]*weirpb.ShardDatasets{other, other}, "eu uses the dataset of us, because eu lags"},
		{
			[]*weirpb.ShardDatasets{choice("degraded", "", "all are old"), choice("degraded", "", "x")},
			"eu uses all datasets (degraded), because all are old",
		},
		{[]*weirpb.ShardDatasets{own, own}, "eu uses the dataset of eu"},
	} {
		lines, shards = nil, step.shards
		for range 3 {
			r.look()
		}
		if got := strings.Join(lines, "\n"); got != step.want {
			t.Errorf("reported %q, want %q", got, step.want)
		}
	}
	lines, shards = nil, []*weirpb.ShardDatasets{own, other}
	r.look()
	shards = []*weirpb.ShardDatasets{own, own}
	r.look()
	r.look()
	if len(lines) > 0 {
		t.Errorf("a change that did not last was reported: %q", lines)
	}
}

func TestDescribePacing(t *testing.T) {
	own, other := &weirpb.ShardDatasets{PacingDc: "eu"}, &weirpb.ShardDatasets{PacingDc: "us"}
	decided := &weirpb.ShardDatasets{PacingDc: "us", PacingOverride: true}
	const none = ", because no process paces their accounts in eu"
	for want, shards := range map[string][]*weirpb.ShardDatasets{
		"the ad servers of eu have no parameters yet":                                                                     nil,
		"the ad servers of eu have the parameters of eu":                                                                  {own, own},
		"the ad servers of eu have the parameters of us" + none:                                                           {other, other},
		"the ad servers of eu have the parameters of eu for 1 of 2 shards, the parameters of us for 1 of 2 shards" + none: {own, other},
		"the ad servers of eu have the parameters of us, because an override decides it":                                  {decided, other},
	} {
		if text, why := describePacing("eu", shards); text+why != want {
			t.Errorf("%s%s, want %s", text, why, want)
		}
	}
}

// devOutput runs weir dev until the end of the test, for as long as limit
// at most, and returns its output.
func devOutput(tb testing.TB, limit time.Duration, args ...string) *bufio.Scanner {
	tb.Helper()
	ctx, stop := context.WithTimeout(context.WithoutCancel(tb.Context()), limit)
	out, in := io.Pipe()
	ended := make(chan struct{})
	args = append([]string{"dev", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, args...)
	environ := []string{"WEIR_SPEND_PARTITIONS=2"}
	go func() {
		defer close(ended)
		code := clitest.Execute(ctx, Commands, cli.Process{Args: args, Environ: environ, Stdin: strings.NewReader(""), Stdout: in, Stderr: tb.Output()})
		_ = in.CloseWithError(fmt.Errorf("weir dev ended with code %d", code))
	}()
	tb.Cleanup(func() {
		stop()
		_ = out.Close()
		<-ended
	})
	return bufio.NewScanner(out)
}

// TestDevDatacentres: weir dev --dcs shows a switch to another dataset.
func TestDevDatacentres(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	want := []string{
		`^ready in \d+ ms: 2 datacentres, eu, us$`,
		`^datacentre eu: API http://127\.0\.0\.1:\d+, Kafka 127\.0\.0\.1:\d+$`,
		`^datacentre us: API http://127\.0\.0\.1:\d+, Kafka 127\.0\.0\.1:\d+$`,
		`^fault: the spend counter of us is cut off from all brokers, for 10s$`,
		`^us uses the dataset of eu, because us (lags by|lacks) `, // the windows of 60 s have just begun
		`^fault: the spend counter of us is connected again$`,
	}
	var lines []string
	// After 15 s each datacentre has events of the other.
	text := devOutput(t, 2*time.Minute, "--dcs", "eu,us", "--rate", "400", "--latency", "5ms", "--fault", "spend=us@15s+10s")
	for len(want) > 0 && text.Scan() {
		lines = append(lines, text.Text())
		if regexp.MustCompile(want[0]).MatchString(text.Text()) {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Fatalf("no line %s in %q: %v", want[0], lines, text.Err())
	}
}
