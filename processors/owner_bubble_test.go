//go:build synctests

package processors_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
)

// twoProcesses runs f with two processes of two partitions each. former is the answer of the
// brokers about the group from the time when a had all partitions.
func twoProcesses(t *testing.T, f func(t *testing.T, h *processorstest.Harness, a, b *processorstest.Process, former *kmsg.DescribeGroupsResponse)) {
	t.Helper()
	o := ledgerOptions(4)
	o.Brokers, o.CheckInterval = 1, time.Second
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		a := h.StartWith("a", processors.Config{Workers: 1, Endpoint: "a:80"}, o.Processor)
		h.WaitFor("one process runs all partitions", time.Minute, func() bool { return len(running(a)) == 4 })
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{a.Runtime().App()}
		former, err := req.RequestWith(t.Context(), h.Client())
		if err != nil {
			t.Fatal(err)
		}
		b := h.StartWith("b", processors.Config{Workers: 1, Endpoint: "b:80"}, o.Processor)
		h.WaitFor("each process runs two partitions", time.Minute, func() bool { return len(running(a)) == 2 && len(running(b)) == 2 })
		f(t, h, a, b, former)
	})
}

// describe makes the brokers answer all questions about the group with groups.
func describe(h *processorstest.Harness, groups []kmsg.DescribeGroupsResponseGroup) {
	h.Cluster.ControlKey(int16(kmsg.DescribeGroups), func(req kmsg.Request) (kmsg.Response, error, bool) {
		h.Cluster.KeepControl()
		res := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
		res.Groups = groups
		return res, nil, true
	})
}

// partitionAt returns a partition that a process runs.
func partitionAt(p *processorstest.Process) int32 {
	for partition := range running(p) {
		return partition
	}
	return -1
}

// TestOwnerSelf: the brokers still name this process as the owner of a partition that it has
// released. It is not named as its own owner, which would send a caller back to where it asks.
func TestOwnerSelf(t *testing.T) {
	twoProcesses(t, func(t *testing.T, h *processorstest.Harness, a, b *processorstest.Process, former *kmsg.DescribeGroupsResponse) {
		describe(h, former.Groups)
		<-time.After(2 * time.Second)
		p := partitionAt(b)
		if owner, err := a.Runtime().OwnerOf(t.Context(), p); err != nil || owner != (processors.Owner{Partition: p}) {
			t.Errorf("the former owner returns %+v, %v", owner, err)
		}
		var other *processors.NotOwnedError
		err := a.Runtime().ReadPartition(t.Context(), p, func(processors.PartitionState) error { return nil })
		if !errors.As(err, &other) || other.Owner.Instance != "" {
			t.Errorf("a read at the former owner: %v", err)
		}
	})
}

// TestOwnerUnknown: while the group rebalances, the brokers name no owners. The former ones are
// returned for a while, and then none.
func TestOwnerUnknown(t *testing.T) {
	twoProcesses(t, func(t *testing.T, h *processorstest.Harness, a, b *processorstest.Process, former *kmsg.DescribeGroupsResponse) {
		p := partitionAt(b)
		owner := func() string {
			o, err := a.Runtime().OwnerOf(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			return o.Instance
		}
		if got := owner(); got != "b" {
			t.Fatalf("the owner is %q", got)
		}
		group := former.Groups[0]
		group.State, group.Protocol, group.Members = "PreparingRebalance", "", nil
		describe(h, []kmsg.DescribeGroupsResponseGroup{group})
		<-time.After(3 * time.Second)
		if got := owner(); got != "b" {
			t.Errorf("after three seconds of a rebalance the owner is %q", got)
		}
		<-time.After(10 * time.Second)
		if got := owner(); got != "" {
			t.Errorf("after 13 seconds of a rebalance the owner is %q", got)
		}
	})
}

// TestOwnerWithoutBrokers: many callers ask for an owner while no broker knows it. Each has an
// error after three seconds, and the next one has it at once. A caller that waits no longer has its
// own.
func TestOwnerWithoutBrokers(t *testing.T) {
	twoProcesses(t, func(t *testing.T, h *processorstest.Harness, a, b *processorstest.Process, _ *kmsg.DescribeGroupsResponse) {
		p := partitionAt(b)
		h.FailRequests(kmsg.DescribeGroups, kerr.CoordinatorNotAvailable, 1<<20) // the client tries again
		began := time.Now()
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				if owner, err := a.Runtime().OwnerOf(t.Context(), p); err == nil || time.Since(began) > 3*time.Second {
					t.Errorf("%+v, %v after %s", owner, err, time.Since(began))
				}
			})
		}
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := a.Runtime().OwnerOf(ctx, p); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
				t.Errorf("a caller that waits for a second: %v after %s", err, time.Since(began))
			}
		})
		callers.Wait()
		began = time.Now()
		if _, err := a.Runtime().OwnerOf(t.Context(), p); err == nil || time.Since(began) > 0 {
			t.Errorf("another caller: %v after %s", err, time.Since(began))
		}
	})
}

// TestOwnerAtTheEnd: a caller that waits for the brokers while Run ends learns that Run is not at
// work.
func TestOwnerAtTheEnd(t *testing.T) {
	twoProcesses(t, func(t *testing.T, h *processorstest.Harness, a, b *processorstest.Process, _ *kmsg.DescribeGroupsResponse) {
		p := partitionAt(b)
		h.FailRequests(kmsg.DescribeGroups, kerr.CoordinatorNotAvailable, 1<<20)
		answer := make(chan error, 1)
		go func() {
			_, err := a.Runtime().OwnerOf(t.Context(), p)
			answer <- err
		}()
		<-time.After(time.Second)
		a.Stop()
		if err := <-answer; !errors.Is(err, processors.ErrNotRunning) {
			t.Errorf("an owner at the end of Run: %v", err)
		}
	})
}
