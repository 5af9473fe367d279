//go:build synctests

package logreader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/logreader"
)

// TestRandom reads both partitions while records and transactions are produced, links are cut,
// answers are lost, leaders move, and partitions are closed and opened again at the positions that
// batches had: each reader gets the committed records, each once and in order. Fetches are bounded
// by partition: kfake leaves the aborted transactions out of an answer that reaches the bound of
// the whole fetch.
func TestRandom(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			run(t, func(c *logreader.Config) { c.QueueBytes = 2000 }, func(x *fixture) { random(x, seed) })
		})
	}
}

func random(x *fixture, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	txn := x.client(kgo.TransactionalID("t"))
	defer txn.Close()
	type reading struct {
		p         *logreader.Partition
		at        logreader.Position
		got, want []string
	}
	parts := [2]*reading{}
	for i := range parts {
		parts[i] = &reading{p: x.open("in", int32(i), logreader.Start()), at: logreader.Start()}
	}
	value := 0
	values := func() (list []string) {
		for range 1 + rng.IntN(20) {
			value++
			list = append(list, fmt.Sprint(value))
		}
		return list
	}
	read := func(r *reading, within time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		var b logreader.Batch
		for r.p.Next(ctx, &b, 1+rng.IntN(3000)) == nil {
			for _, rec := range b.Records {
				r.got = append(r.got, string(rec.Value))
			}
			r.at = b.After
			if rng.IntN(4) == 0 {
				return
			}
		}
	}
	for range 60 {
		i := rng.IntN(2)
		switch rng.IntN(9) {
		case 0, 1:
			list := values()
			x.produce("in", int32(i), list...)
			parts[i].want = append(parts[i].want, list...)
		case 2:
			list := values()
			x.transaction(txn, kgo.TryCommit, list...)
			parts[0].want = append(parts[0].want, list...)
		case 3:
			x.transaction(txn, kgo.TryAbort, values()...)
		case 4:
			x.link.Cut()
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
			x.link.Heal()
		case 5:
			x.cluster.LoseAnswers(kmsg.Fetch, 1)
		case 6:
			x.cluster.ShufflePartitionLeaders()
		case 7:
			r := parts[i]
			r.p.Close()
			r.p = x.open("in", int32(i), r.at)
		default:
			read(parts[i], time.Duration(rng.IntN(2000))*time.Millisecond)
		}
	}
	x.cluster.LoseAnswers(kmsg.Fetch, 0)
	for i, r := range parts {
		for end := time.Now().Add(3 * time.Minute); len(r.got) < len(r.want) && time.Now().Before(end); {
			read(r, time.Second)
		}
		read(r, time.Second)
		if !slices.Equal(r.got, r.want) {
			x.Errorf("partition %d: %d records, want %d: %q, want %q", i, len(r.got), len(r.want), r.got, r.want)
		}
	}
}
