//go:build synctests

package logreader_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/logreader"
)

// lost opens partition 0 at a position in a log of eight records, and returns why it stops.
func (x *fixture) lost(at logreader.Position) *logreader.TruncatedError {
	x.Helper()
	p := x.open("in", 0, at)
	defer p.Close()
	got, _, err := x.next(p, 30*time.Second)
	short := new(logreader.TruncatedError)
	if !errors.As(err, &short) || len(got) > 0 {
		x.Fatalf("%q, error %v", got, err)
	}
	x.produce("in", 0, "later")
	x.want(p) // the error is not repeated, and lasts
	if s := p.Status(); !errors.As(s.Stopped, &short) || s.At != at {
		x.Errorf("status %+v", s)
	}
	return short
}

func (x *fixture) eight() logreader.TopicID {
	x.Helper()
	x.produce("in", 0, "0", "1", "2", "3", "4", "5", "6", "7")
	return x.cluster.TopicInfo("in").TopicID
}

// TestLostRecords: a replica has become the leader that lacked records 3 and 4, and has taken
// others at their offsets, so that the log is longer than what was read. The partition stops until
// its owner opens it where the logs differ.
func TestLostRecords(t *testing.T) {
	run(t, nil, func(x *fixture) {
		at := logreader.Position{Topic: x.eight(), Next: 5, Epoch: 2}
		x.cluster.EndEpochs("in", 0, simkafka.EpochEnd{UpTo: 2, Epoch: 2, End: 3})
		if e := x.lost(at); e.Next != 5 || e.Resume != 3 {
			x.Errorf("%+v", e)
		}
		x.cluster.EndEpochs("in", 0, simkafka.EpochEnd{UpTo: -1})
		x.want(x.open("in", 0, logreader.Position{Topic: at.Topic, Next: 3, Epoch: -1}), "3", "4", "5", "6", "7", "later")
	})
}

// TestLostAndTrimmed: the records at which the logs differ were deleted. The next to read is the
// first that there is.
func TestLostAndTrimmed(t *testing.T) {
	run(t, nil, func(x *fixture) {
		at := logreader.Position{Topic: x.eight(), Next: 5, Epoch: 2}
		x.cluster.EndEpochs("in", 0, simkafka.EpochEnd{UpTo: 2, Epoch: 2, End: 3})
		if err := x.cluster.DeleteRecords("in", 0, 4); err != nil {
			x.Fatal(err)
		}
		if e := x.lost(at); e.Resume != 4 {
			x.Errorf("%+v", e)
		}
	})
}

// TestUnknownEpoch: the brokers know neither the epoch of the last record that was read, nor an
// earlier one, as after the loss of all disks. The next to read is the first record.
func TestUnknownEpoch(t *testing.T) {
	run(t, nil, func(x *fixture) {
		at := logreader.Position{Topic: x.eight(), Next: 5, Epoch: 2}
		x.cluster.EndEpochs("in", 0, simkafka.EpochEnd{UpTo: 2, Epoch: -1, End: -1})
		if err := x.cluster.DeleteRecords("in", 0, 1); err != nil {
			x.Fatal(err)
		}
		if e := x.lost(at); e.Next != 5 || e.Resume != 1 {
			x.Errorf("%+v", e)
		}
	})
}

// TestLowerEpoch: the log has no records of the epoch of the last record that was read, and has
// more records of an earlier one than were read. So at least the last one is another record.
func TestLowerEpoch(t *testing.T) {
	run(t, nil, func(x *fixture) {
		at := logreader.Position{Topic: x.eight(), Next: 5, Epoch: 2}
		x.cluster.EndEpochs("in", 0, simkafka.EpochEnd{UpTo: 2, Epoch: 1, End: 7})
		if e := x.lost(at); e.Next != 5 || e.Resume != 4 {
			x.Errorf("%+v", e)
		}
	})
}

// TestLostWhileReading: as TestLostRecords, while the partition is read.
func TestLostWhileReading(t *testing.T) {
	run(t, nil, func(x *fixture) {
		p := x.open("in", 0, logreader.Start())
		id := x.eight()
		x.want(p, "0", "1", "2", "3", "4", "5", "6", "7")
		x.cluster.EndEpochs("in", 0, simkafka.EpochEnd{UpTo: 0, Epoch: 0, End: 3})
		x.cluster.ShufflePartitionLeaders()
		x.produce("in", 0, "8")
		got, _, err := x.next(p, time.Minute)
		short := new(logreader.TruncatedError)
		if !errors.As(err, &short) || len(got) > 0 || short.Next != 8 || short.Resume != 3 {
			x.Errorf("%q, error %v", got, err)
		}
		if s := p.Status(); s.At.Topic != id || s.At.Next != 8 {
			x.Errorf("status %+v", s)
		}
	})
}
