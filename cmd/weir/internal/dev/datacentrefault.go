package dev

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/internal/pause"
)

// dcFault is an injected fault of weir dev --dcs.
type dcFault struct {
	text   string // as it was given
	begins string // a sentence without a full stop
	ends   string
	cuts   func(route) bool
	after  time.Duration
	length time.Duration // 0: until the process ends
}

// Times of a fault of which they are not given.
const (
	dcFaultAfter  = 30 * time.Second
	dcFaultLength = time.Minute
)

// dcFaultHelp describes the faults of weir dev --dcs.
const dcFaultHelp = "write spend=DC, mirror=DC, push=DC, pacing=DC, kafka=DC or link=DC-DC; add @30s for the time until it begins and +60s for its duration"

// parseDCFault reads KIND=DC[@AFTER][+LENGTH], or link=DC-DC.
func parseDCFault(text string, dcs []string) (f dcFault, err error) {
	m := regexp.MustCompile(`^(spend|mirror|push|pacing|kafka|link)=([^@+]+)(?:@([^+]+))?(?:\+(.+))?$`).FindStringSubmatch(text)
	if m == nil {
		return f, cli.UsageError("--fault "+text+" does not exist with --dcs", dcFaultHelp)
	}
	f = dcFault{text: text}
	if err := f.setRoutes(m[1], m[2], dcs); err != nil {
		return f, err
	}
	if f.after, err = faultTime(text, m[3], dcFaultAfter); err != nil {
		return f, err
	}
	f.length, err = faultTime(text, m[4], dcFaultLength)
	return f, err
}

// setRoutes sets what the fault cuts.
func (f *dcFault) setRoutes(kind, what string, dcs []string) error {
	if kind == "link" {
		for n := range len(what) { // names may have dashes
			a, b := what[:n], strings.TrimPrefix(what[n:], "-")
			if what[n] != '-' || !slices.Contains(dcs, a) || !slices.Contains(dcs, b) || a == b {
				continue
			}
			f.begins, f.ends = a+" and "+b+" are cut from each other", a+" and "+b+" are connected again"
			f.cuts = func(r route) bool { return r.from == a && r.to == b || r.from == b && r.to == a }
			return nil
		}
		return cli.UsageError(fmt.Sprintf("--fault %s: %q is not a pair of datacentres", f.text, what),
			"write link=DC-DC with two of "+strings.Join(dcs, ", "))
	}
	if err := connect.KnownDatacentre("--fault "+f.text, what, "datacentre", dcs); err != nil {
		return err
	}
	if kind == "kafka" {
		f.begins, f.ends = "the Kafka of "+what+" is down", "the Kafka of "+what+" is up again"
		f.cuts = func(r route) bool { return r.to == what }
		return nil
	}
	role := map[string]string{"spend": "spendcounter"}[kind]
	role = cmp.Or(role, kind)
	f.begins = fmt.Sprintf("the %s of %s is cut off from all brokers", dcRoleName(kind), what)
	f.ends = fmt.Sprintf("the %s of %s is connected again", dcRoleName(kind), what)
	f.cuts = func(r route) bool { return r.from == what && r.role == role }
	return nil
}

func dcRoleName(kind string) string {
	if kind == "spend" {
		return "spend counter"
	}
	return kind
}

// inject injects the fault and reports it.
func (f *dcFault) inject(ctx context.Context, n *network, report func(format string, args ...any)) {
	if !pause.For(ctx, f.after) {
		return
	}
	heal := n.cut(f.text, f.cuts)
	if f.length == 0 {
		report("fault: %s", f.begins)
		return
	}
	report("fault: %s, for %s", f.begins, f.length)
	if pause.For(ctx, f.length) {
		heal()
		report("fault: %s", f.ends)
	}
}
