package processorstest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
)

// waitLimit bounds every wait, in virtual time.
const waitLimit = 10 * time.Minute

// WaitFor waits until a condition holds, in virtual time. It checks the condition 20 times a
// second. After limit the test fails with what, the condition in words.
func (h *Harness) WaitFor(what string, limit time.Duration, holds func() bool) {
	h.t.Helper()
	for end := time.Now().Add(limit); !holds(); <-time.After(50 * time.Millisecond) {
		if !time.Now().Before(end) {
			for _, p := range h.running() {
				h.t.Logf("%s: %+v", p.name, p.rt.Status())
			}
			h.t.Fatalf("not within %s: %s\n%s", limit, what, h.logTail.String())
		}
	}
}

// CaughtUp waits until every partition has one owner, whose store has all records that are
// committed in the inputs. The partitions in without are left out: partitions that are stopped, for
// example. After ten minutes the test fails with what is missing.
func (h *Harness) CaughtUp(without ...int32) {
	h.t.Helper()
	missing := ""
	for end := time.Now().Add(waitLimit); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		if missing = h.Behind(without...); missing == "" {
			return
		}
	}
	h.t.Fatalf("not caught up after %s: %s\n%s", waitLimit, missing, h.logTail.String())
}

// Behind returns what CaughtUp would wait for; empty if it would return at once.
func (h *Harness) Behind(without ...int32) string {
	ends, err := kadm.NewClient(h.client).ListCommittedOffsets(context.Background(), h.options.Processor.Inputs...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Sprintf("the ends of the inputs: %v", err)
	}
	var list []string
	procs := h.running()
	for p := range h.parts {
		if slices.Contains(without, p) {
			continue
		}
		var owners []string
		for _, proc := range procs {
			s, ok := proc.owns(p)
			if !ok {
				continue
			}
			owners = append(owners, proc.name)
			if s.State != "running" {
				list = append(list, fmt.Sprintf("partition %d is %s in process %s: %s", p, s.State, proc.name, s.Reason))
			}
			next := proc.stored(p)
			for _, topic := range h.options.Processor.Inputs {
				if end, _ := ends.Lookup(topic, p); next[topic] < end.Offset {
					list = append(list,
						fmt.Sprintf("the store of process %s is at %d of %s[%d], which ends at %d", proc.name, next[topic], topic, p,
							end.Offset))
				}
			}
		}
		if len(owners) != 1 {
			list = append(list, fmt.Sprintf("partition %d has %d owners %v", p, len(owners), owners))
		}
	}
	return strings.Join(list, "; ")
}

// stored returns the next offset of each input in the process's store.
func (p *Process) stored(partition int32) map[string]int64 {
	snap, err := p.rt.Snapshot()
	if err != nil {
		return nil
	}
	defer func() { _ = snap.Close() }()
	meta, err := snap.Meta(partition)
	if err != nil {
		return nil
	}
	return changelogpb.NextOffsets(meta.GetMarker().GetInputs())
}

// State returns a table of a partition, as its owner has committed it.
func (h *Harness) State(partition int32, table byte) map[string][]byte {
	h.t.Helper()
	for _, p := range h.running() {
		if _, ok := p.owns(partition); !ok {
			continue
		}
		snap, err := p.rt.Snapshot()
		if err != nil {
			h.t.Fatal(err)
		}
		state := map[string][]byte{}
		err = snap.Scan(partition, table, nil, func(k, v []byte) error {
			state[string(k)] = bytes.Clone(v)
			return nil
		})
		if e := snap.Close(); err != nil || e != nil {
			h.t.Fatalf("read table %d of partition %d: %v, %v", table, partition, err, e)
		}
		return state
	}
	h.t.Fatalf("partition %d has no owner", partition)
	return nil
}

// Records returns the committed records of a topic, partition by partition.
func (h *Harness) Records(topic string) []*kgo.Record {
	h.t.Helper()
	list, err := h.sim.Read(context.Background(), topic)
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}
