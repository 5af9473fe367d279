package node

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/sink"
	"github.com/weirhq/weir/stream"
)

// A stopped partition of an executor has what `weir doctor` needs for the command that skips, and
// each partition what was skipped in it.
func TestSinkPartition(t *testing.T) {
	of := &stream.Sink{Group: "lease-executor.eu", Topic: "lease.commands.eu"}
	at := time.UnixMilli(1000)
	p := sinkPartition(of, sink.Status{
		Partition: 3, Skipped: []kafka.SkippedRange{{From: 2, To: 4, Who: "me", Why: "a bomb", At: at}},
		Stopped: &kafka.UnreadableError{Topic: of.Topic, Partition: 3, Offset: 7, Resume: 9, Err: errors.New("crc")},
	})
	if u := p.GetUnreadable(); p.GetState() != "stopped" || u.GetTopic() != of.Topic || u.GetOffset() != 7 || u.GetNext() != 9 || p.GetReason() == "" {
		t.Errorf("%v", p)
	}
	if r := p.GetSkipped(); len(r) != 1 || r[0].GetTopic() != of.Topic || r[0].GetFrom() != 2 || r[0].GetTo() != 4 || r[0].GetWho() != "me" || r[0].GetWhy() != "a bomb" || r[0].GetAtMs() != 1000 {
		t.Errorf("%v", r)
	}
	if p := sinkPartition(of, sink.Status{}); p.GetState() != "running" || p.GetUnreadable() != nil || p.GetSkipped() != nil {
		t.Errorf("%v", p)
	}
}
