//go:build synctests

package logreader_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

// TestDescribeExtent: End is the end of the committed records, Written that of all, and only
// DescribeWritten asks for it.
func TestDescribeExtent(t *testing.T) {
	run(t, nil, func(x *fixture) {
		k := kafka.Cluster{Options: x.link.Options()}
		x.produce("in", 0, "a", "b", "c")
		x.produce("in", 1, "x")
		if err := x.cluster.DeleteRecords("in", 0, 2); err != nil {
			x.Fatal(err)
		}
		txn := x.client(kgo.TransactionalID("t"))
		defer txn.Close()
		if err := txn.BeginTransaction(); err != nil {
			x.Fatal(err)
		}
		if err := txn.ProduceSync(x.Context(), &kgo.Record{Topic: "in", Value: []byte("open")}).FirstErr(); err != nil {
			x.Fatal(err)
		}
		want := []logreader.Extent{{Start: 2, End: 3, Written: -1}, {Start: 0, End: 1, Written: -1}}
		e, err := logreader.DescribeExtent(x.Context(), k, "in")
		if err != nil || !reflect.DeepEqual(e.Partitions, want) || e.Topic != x.cluster.TopicInfo("in").TopicID {
			x.Errorf("%+v, error %v", e, err)
		}
		want[0].Written, want[1].Written = 4, 1
		if e, err = logreader.DescribeWritten(x.Context(), k, "in"); err != nil || !reflect.DeepEqual(e.Partitions, want) {
			x.Errorf("%+v, error %v", e, err)
		}
		if e, err = logreader.DescribeWritten(x.Context(), k, "none"); err != nil || e.Topic != (logreader.TopicID{}) || len(e.Partitions) > 0 {
			x.Errorf("a topic that does not exist: %+v, error %v", e, err)
		}
	})
}

// TestDescribeExtentFails: an answer that lacks a partition, is refused or mixes two topics is an
// error.
func TestDescribeExtentFails(t *testing.T) {
	run(t, nil, func(x *fixture) {
		k := kafka.Cluster{Options: x.link.Options()}
		fails := func(what string, is func(error) bool) {
			x.Helper()
			ctx, cancel := context.WithTimeout(x.Context(), 30*time.Second)
			defer cancel()
			if e, err := logreader.DescribeWritten(ctx, k, "in"); err == nil || !is(err) || len(e.Partitions) > 0 {
				x.Errorf("%s: %+v, error %v", what, e, err)
			}
		}
		denied := x.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "in", Err: kerr.TopicAuthorizationFailed, Count: -1})
		fails("denied", func(err error) bool { return errors.Is(err, kerr.TopicAuthorizationFailed) })
		denied.Remove()
		failed := x.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "in", Partitions: []int32{1}, Err: kerr.UnknownServerError, Count: -1})
		fails("one partition", func(err error) bool { return strings.Contains(err.Error(), "in[1]") })
		failed.Remove()
		leaders := []int32{x.cluster.PartitionInfo("in", 0).Leader, x.cluster.PartitionInfo("in", 1).Leader}
		begun, created := false, make(chan struct{}) // the requests to both brokers wait for the new topic
		x.cluster.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
			if begun {
				x.cluster.SleepControl(func() { <-created })
				return nil, nil, false
			}
			begun = true
			x.cluster.SleepControl(func() {
				defer close(created)
				err := errors.Join(x.cluster.DeleteTopic("in"), x.cluster.CreateTopic("in", 2, nil))
				for n, leader := range leaders {
					err = errors.Join(err, x.cluster.MoveTopicPartition("in", int32(n), leader))
				}
				if err != nil {
					x.Error(err)
				}
			})
			return nil, nil, false
		})
		fails("created again", func(err error) bool { return strings.Contains(err.Error(), "created again") })
		x.link.Cut()
		fails("away", func(err error) bool { return err != nil })
	})
}
