//go:build synctests

package changelog_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/kafka"
)

// fixture is a Reader of both partitions of the topic "log".
type fixture struct {
	*testing.T
	cluster *simkafka.Cluster
	kafka   kafka.Cluster
	r       *changelog.Reader
}

// readLog runs f on a Reader from the offset at. Each record of partition 0 is a batch of its own.
// The batch of the record "damaged" has an unknown format until cluster.Damage is called.
func readLog(t *testing.T, at kgo.Offset, records []string, f func(x *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		c, err := simkafka.NewWithBrokers(1, 2, "log")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		x := &fixture{T: t, cluster: c, kafka: kafka.Cluster{Options: c.Link().Options()}}
		cl, err := x.kafka.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		for i, value := range records {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "log", Value: []byte(value)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if value == "damaged" {
				c.Damage(x.format(cl, int64(i)))
			}
		}
		if x.r, err = changelog.NewReader(x.kafka, "log", map[int32]kgo.Offset{0: at, 1: at}, kgo.FetchMaxWait(250*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		defer x.r.Close()
		f(x)
	})
}

// format returns the magic byte and what follows it of a batch of partition 0.
func (x *fixture) format(cl *kgo.Client, offset int64) string {
	x.Helper()
	topics, err := kadm.NewClient(cl).ListTopics(x.Context(), "log")
	if err != nil {
		x.Fatal(err)
	}
	found, err := kafka.Fetch(x.Context(), cl, topics["log"], kafka.FetchRange{Offset: offset, MaxBytes: 1 << 20})
	if err != nil {
		x.Fatal(err)
	}
	if first := int64(binary.BigEndian.Uint64(found.RecordBatches)); first != offset {
		x.Fatalf("the batch begins at offset %d, not %d", first, offset)
	}
	return string(found.RecordBatches[16:32])
}

// poll polls for a while, and returns the values of the records and the errors.
func (x *fixture) poll(lasts time.Duration) (values []string, unreadable map[int32]error) {
	unreadable = map[int32]error{}
	ctx, cancel := context.WithTimeout(x.Context(), lasts)
	defer cancel()
	for ctx.Err() == nil {
		fetches, failed := x.r.Poll(ctx, 100)
		for it := fetches.RecordIter(); !it.Done(); {
			values = append(values, string(it.Next().Value))
		}
		for p, err := range failed {
			unreadable[p] = err
		}
	}
	return values, unreadable
}

// TestReaderContinue: a partition that was held back is read on at the first record that was not
// returned, also if it could not be read before or during that time.
func TestReaderContinue(t *testing.T) {
	readLog(t, kgo.NewOffset().At(0), []string{"a", "damaged", "b"}, func(x *fixture) {
		if got, _ := x.poll(500 * time.Millisecond); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("the first records are %q", got)
		}
		for range 3 {
			x.r.Hold(0)
			if got, _ := x.poll(3 * time.Second); len(got) > 0 {
				t.Errorf("records of a partition that is held back: %q", got)
			}
			x.r.Continue(0)
			if got, _ := x.poll(300 * time.Millisecond); len(got) > 0 {
				t.Errorf("records behind the batch: %q", got)
			}
		}
		x.cluster.Damage("")
		if got, _ := x.poll(3 * time.Second); !slices.Equal(got, []string{"damaged", "b"}) {
			t.Errorf("then come %q", got)
		}
	})
}

// TestReaderAtStart: the start of the log is a position as any other.
func TestReaderAtStart(t *testing.T) {
	readLog(t, kgo.NewOffset().AtStart(), []string{"damaged", "b"}, func(x *fixture) {
		if got, failed := x.poll(5 * time.Second); len(got) > 0 || len(failed) > 0 {
			t.Errorf("records behind the batch: %q; %v", got, failed)
		}
		x.cluster.Damage("")
		if got, failed := x.poll(3 * time.Second); !slices.Equal(got, []string{"damaged", "b"}) || len(failed) > 0 {
			t.Errorf("then come %q; %v", got, failed)
		}
	})
}

// TestReaderLosesRight: an error of the topic reaches every partition, and ends with its cause.
func TestReaderLosesRight(t *testing.T) {
	readLog(t, kgo.NewOffset().AtStart(), []string{"a"}, func(x *fixture) {
		f := x.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "log", Err: kerr.TopicAuthorizationFailed, Count: -1})
		got, failed := x.poll(20 * time.Second)
		if len(got) > 0 || len(failed) != 2 || !errors.Is(failed[0], kerr.TopicAuthorizationFailed) || !errors.Is(failed[1], kerr.TopicAuthorizationFailed) {
			t.Errorf("records %q, errors %v", got, failed)
		}
		f.Remove()
		if got, _ := x.poll(time.Minute); !slices.Equal(got, []string{"a"}) {
			t.Errorf("then come %q", got)
		}
	})
}
