package dev

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/internal/pause"

	"golang.org/x/sync/errgroup"
)

// fault is something that goes wrong on purpose in weir dev, or in weir dynamodb.
type fault struct {
	kind   string // faultDuplicate or faultRegion
	region string
	after  time.Duration
	length time.Duration // 0: to the end
}

const (
	faultDuplicate = "duplicate"
	faultRegion    = "region"

	duplicateAfter = 15 * time.Second
	duplicateCut   = 3 * time.Second // how long the regions do not hear each other
	duplicateLease = 2 * time.Minute
	regionAfter    = time.Minute
	healCheck      = 100 * time.Millisecond
)

// parseFault reads kind[=REGION][@AFTER][+LENGTH].
func parseFault(text string, regions []string) (fault, error) {
	m := regexp.MustCompile(`^(duplicate|region)(?:=([^@+]+))?(?:@([^+]+))?(?:\+(.+))?$`).FindStringSubmatch(text)
	if m == nil {
		return fault{}, cli.UsageError("no fault is called "+text, "write duplicate, or region=NAME; then, if you like, @30s for when and +2m for how long")
	}
	f := fault{kind: m[1], region: m[2], after: duplicateAfter}
	if f.kind == faultRegion {
		f.after = regionAfter
		if f.region == "" {
			f.region = regions[len(regions)-1]
		}
	}
	if f.region != "" && !slices.Contains(regions, f.region) {
		return f, cli.UsageError("no region is called "+f.region, fmt.Sprintf("they are %q", regions))
	}
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{m[3], &f.after}, {m[4], &f.length}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil || v < 0 {
			return f, cli.UsageError(d.text+" in "+text+" is no duration", "write it like 30s or 2m")
		}
		*d.to = v
	}
	return f, nil
}

// faultInjector makes the faults happen, and says so.
type faultInjector struct {
	cloud   *dynamotest.Cloud
	regions []string
	agents  []*agent.Agent // of the regions, in their order; only for duplicates
	say     func(format string, args ...any)

	mu   sync.Mutex
	down []string
	n    int // duplicates made
}

func (f *faultInjector) run(ctx context.Context, faults []fault) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, fault := range faults {
		g.Go(func() error {
			if !pause.For(ctx, fault.after) {
				return nil
			}
			if fault.kind == faultDuplicate {
				return f.duplicate(ctx)
			}
			if err := f.kill(fault.region, true); err != nil || fault.length == 0 || !pause.For(ctx, fault.length) {
				return err
			}
			return f.kill(fault.region, false)
		})
	}
	return g.Wait()
}

// kill has a region answer nothing and hear nothing, or ends that.
func (f *faultInjector) kill(region string, down bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if down {
		f.down = append(f.down, region)
	} else {
		f.down = slices.DeleteFunc(f.down, func(r string) bool { return r == region })
	}
	var faults []dynamotest.Fault
	for _, r := range f.down {
		faults = append(faults, dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1, Region: r})
	}
	if err := f.cloud.SetFaults(faults...); err != nil {
		return err
	}
	for _, other := range f.regions {
		if other == region {
			continue
		}
		if err := f.cut(region, other, down || slices.Contains(f.down, other)); err != nil {
			return err
		}
	}
	if down {
		f.say("fault: %s is down: it answers nothing, and the others hear nothing of it", region)
	} else {
		f.say("fault: %s is back", region)
	}
	return nil
}

func (f *faultInjector) cut(a, b string, cut bool) error {
	if err := f.cloud.Cut(a, b, cut); err != nil {
		return err
	}
	return f.cloud.Cut(b, a, cut)
}

// duplicate has two regions lease one key, each having heard nothing of the other, and looks until they agree.
func (f *faultInjector) duplicate(ctx context.Context) error {
	regions := f.regions
	if len(regions) < 2 {
		return cli.Fail(cli.ExitUsage, "no duplicate can be made", fmt.Errorf("there is one region"), "give leases.regions two")
	}
	a, b := f.agents[0], f.agents[1]
	f.mu.Lock()
	f.n++
	key := fmt.Sprintf("twice-%d", f.n)
	f.mu.Unlock()
	if err := f.cut(regions[0], regions[1], true); err != nil {
		return err
	}
	get := func(x *agent.Agent) (agent.Lease, error) {
		return x.GetLease(ctx, demoName, demoName, key, time.Now().Add(duplicateLease))
	}
	first, errA := get(a)
	second, errB := get(b)
	waited := pause.For(ctx, duplicateCut)
	if err := f.cut(regions[0], regions[1], false); err != nil || !waited {
		return err
	}
	if errA != nil || errB != nil {
		f.say("fault: no duplicate could be made: %v, %v", errA, errB)
		return nil
	}
	f.say("fault: while %s and %s did not hear each other, key %s was leased twice: %s and %s", regions[0], regions[1], key, first.Resource, second.Resource)
	healed := time.Now()
	for pause.For(ctx, healCheck) {
		first, errA = get(a)
		second, errB = get(b)
		if errA == nil && errB == nil && first.Resource == second.Resource {
			f.say("fault: %.1f s after they hear each other again, both regions give %s for key %s", time.Since(healed).Seconds(), first.Resource, key)
			return nil
		}
	}
	return nil
}
