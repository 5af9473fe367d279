package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/internal/pause"

	"golang.org/x/sync/errgroup"
)

// fault is an injected fault of weir dev or weir dynamodb.
type fault struct {
	kind   string // faultDuplicate, faultRegion or faultJobs
	name   string // of the region or of the resource
	after  time.Duration
	length time.Duration // 0: until the process ends
}

const (
	faultDuplicate = "duplicate"
	faultRegion    = "region"
	faultJobs      = "jobs"

	duplicateAfter = 15 * time.Second
	duplicateCut   = 3 * time.Second // duration of the cut between the regions
	duplicateLease = 2 * time.Minute
	regionAfter    = time.Minute
	jobsAfter      = time.Minute
	healCheck      = 100 * time.Millisecond
)

// parseFaults reads the values of --fault.
func parseFaults(texts, regions []string) (faults []fault, err error) {
	for _, text := range texts {
		f, err := parseFault(text, regions)
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// parseFault reads kind[=NAME][@AFTER][+LENGTH].
func parseFault(text string, regions []string) (f fault, err error) {
	m := regexp.MustCompile(`^(duplicate|region|jobs)(?:=([^@+]+))?(?:@([^+]+))?(?:\+(.+))?$`).FindStringSubmatch(text)
	if m == nil {
		return f, cli.UsageError("--fault "+text+" does not exist",
			"write duplicate, region=NAME or jobs=RESOURCE; add @30s for the time until it begins and +2m for its duration")
	}
	f = fault{kind: m[1], name: m[2]}
	after := duplicateAfter
	switch f.kind {
	case faultRegion:
		after, f.name = regionAfter, cmp.Or(f.name, regions[len(regions)-1])
	case faultJobs:
		after, f.name = jobsAfter, cmp.Or(f.name, "gpu")
		if all := demoHas(); !slices.Contains(all, f.name) {
			return f, cli.UsageError("no job of the demo needs "+f.name, "the resources are "+strings.Join(all, ", "))
		}
	}
	if f.kind != faultJobs && f.name != "" && !slices.Contains(regions, f.name) {
		return f, cli.UsageError("no region is called "+f.name, "the regions are "+strings.Join(regions, ", "))
	}
	if f.after, err = faultTime(text, m[3], after); err != nil {
		return f, err
	}
	f.length, err = faultTime(text, m[4], 0)
	return f, err
}

// ofJobs reports whether a fault is one of jobs.
func ofJobs(f fault) bool { return f.kind == faultJobs }

// faultTime returns a duration of --fault text, or one in its place if it is not given.
func faultTime(text, given string, otherwise time.Duration) (time.Duration, error) {
	if given == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(given)
	if err != nil || d < 0 {
		return 0, cli.UsageError(fmt.Sprintf("%q in --fault %s is not a duration", given, text), "write it like 30s or 2m")
	}
	return d, nil
}

// faultInjector injects faults and reports them.
type faultInjector struct {
	cloud   *dynamotest.Cloud
	regions []string
	agents  []*agent.Agent // of the regions, in their order; needed for duplicates
	report  func(format string, args ...any)

	mu   sync.Mutex
	down []string
	n    int // injected duplicates
}

func (f *faultInjector) run(ctx context.Context, faults []fault) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, fault := range faults {
		if ofJobs(fault) { // see jobDemo
			continue
		}
		g.Go(func() error {
			if !pause.For(ctx, fault.after) {
				return nil
			}
			if fault.kind == faultDuplicate {
				return f.duplicate(ctx)
			}
			if err := f.setDown(fault.name, true); err != nil || fault.length == 0 || !pause.For(ctx, fault.length) {
				return err
			}
			return f.setDown(fault.name, false)
		})
	}
	return g.Wait()
}

// setDown takes a region down or up: it answers no request and gets no replication.
func (f *faultInjector) setDown(region string, down bool) error {
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
		f.report("fault: %s is down: it answers no requests, and replication to and from it stops", region)
	} else {
		f.report("fault: %s is up again", region)
	}
	return nil
}

// cut stops or resumes replication between two regions.
func (f *faultInjector) cut(a, b string, cut bool) error {
	if err := f.cloud.Cut(a, b, cut); err != nil {
		return err
	}
	return f.cloud.Cut(b, a, cut)
}

// duplicate cuts two regions from each other, gets a lease of one key in both, and waits until both
// regions return the same lease.
func (f *faultInjector) duplicate(ctx context.Context) error {
	regions := f.regions
	if len(regions) < 2 {
		return cli.Fail(cli.ExitUsage, "cannot inject a duplicate", errors.New("there is one region only"),
			"set leases.regions to two regions or more")
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
		f.report("fault: cannot inject a duplicate: %v, %v", errA, errB)
		return nil
	}
	f.report("fault: while %s and %s were cut from each other, key %s was leased twice: %s and %s", regions[0], regions[1], key,
		first.Resource, second.Resource)
	healed := time.Now()
	for pause.For(ctx, healCheck) {
		first, errA = get(a)
		second, errB = get(b)
		if errA == nil && errB == nil && first.Resource == second.Resource {
			f.report("fault: %.1f s after the cut ended, both regions return %s for key %s", time.Since(healed).Seconds(), first.Resource,
				key)
			return nil
		}
	}
	return nil
}
