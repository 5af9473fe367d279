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
)

// waitLimit is how long anything is waited for, in virtual time.
const waitLimit = 10 * time.Minute

// CaughtUp waits until every partition has one owner, which has folded and committed all that is committed in its inputs.
// Partitions that are to stand still, such as one that stopped, are left out by their numbers. After ten minutes the test
// fails, with what is missing.
func (w *Harness) CaughtUp(without ...int32) {
	w.t.Helper()
	adm, missing := kadm.NewClient(w.client), ""
	for end := time.Now().Add(waitLimit); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		ends, err := adm.ListCommittedOffsets(context.Background(), w.options.Processor.Inputs...)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			missing = fmt.Sprintf("the ends of the inputs: %v", err)
			continue
		}
		if missing = w.missing(ends, without); missing == "" {
			return
		}
	}
	w.t.Fatalf("not caught up after %s: %s\n%s", waitLimit, missing, w.logTail.String())
}

// missing says what keeps the world from being caught up; nothing if it is.
func (w *Harness) missing(ends kadm.ListedOffsets, without []int32) string {
	var list []string
	procs := w.running()
	for p := range w.parts {
		if slices.Contains(without, p) {
			continue
		}
		var owners []string
		for _, proc := range procs {
			s, ok := proc.at(p)
			if !ok {
				continue
			}
			owners = append(owners, proc.name)
			if s.State != "running" {
				list = append(list, fmt.Sprintf("partition %d is %s at %s: %s", p, s.State, proc.name, s.Reason))
			}
			for _, topic := range w.options.Processor.Inputs {
				if end, _ := ends.Lookup(topic, p); s.Next[topic] < end.Offset {
					list = append(list, fmt.Sprintf("%s is at %d of %s[%d], which ends at %d", proc.name, s.Next[topic], topic, p, end.Offset))
				}
			}
		}
		if len(owners) != 1 {
			list = append(list, fmt.Sprintf("partition %d has %d owners %v", p, len(owners), owners))
		}
	}
	return strings.Join(list, "; ")
}

// State is what a table of a partition holds, as its owner has committed it.
func (w *Harness) State(partition int32, table byte) map[string][]byte {
	w.t.Helper()
	for _, p := range w.running() {
		if _, ok := p.at(partition); !ok {
			continue
		}
		snap, err := p.rt.Snapshot()
		if err != nil {
			w.t.Fatal(err)
		}
		state := map[string][]byte{}
		err = snap.Scan(partition, table, nil, func(k, v []byte) error {
			state[string(k)] = bytes.Clone(v)
			return nil
		})
		if e := snap.Close(); err != nil || e != nil {
			w.t.Fatalf("read table %d of partition %d: %v, %v", table, partition, err, e)
		}
		return state
	}
	w.t.Fatalf("partition %d has no owner", partition)
	return nil
}

// Records are the committed records of a topic, partition by partition.
func (w *Harness) Records(topic string) []*kgo.Record {
	w.t.Helper()
	list, err := w.sim.Read(context.Background(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}
