package queues

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream/streamtest"
)

// FuzzFold: whatever a record of jobs.submits has, it is a job, is refused with a reason, or is a
// dead letter. Jobs before and after it are not affected.
func FuzzFold(f *testing.F) {
	for _, m := range []*eventspb.JobSubmission{
		{Queue: "q", Payload: []byte("x")},
		{Queue: "q", Spec: &eventspb.JobSpec{Require: []string{"gpu"}, Prefer: []string{"m"}, Priority: 3, Key: "k", Group: "g"}},
		{Queue: "q", Spec: &eventspb.JobSpec{After: []uint64{0, 7, 1 << 63}, NotBeforeMs: -1}},
		{Queue: "other", Spec: &eventspb.JobSpec{Priority: 1 << 31}},
	} {
		value, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Add([]byte{0xff})
	plain, err := proto.Marshal(&eventspb.JobSubmission{Queue: "q"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r := streamtest.New(t, streamtest.Options{Processor: Processor(events.Layout{Shards: 1}, nil)})
		if err := streamtest.Ask(r, func(s *Shard) error { return s.Set("q", &eventspb.JobQueueSettings{Version: 1}) }); err != nil {
			t.Fatal(err)
		}
		r.Append(plain, value, plain)
		r.FoldAll()
		_ = streamtest.Ask(r, func(s *Shard) error {
			q := s.queues["q"]
			if q.core.State(0) != jobqueue.Pending || q.core.State(2) != jobqueue.Pending {
				t.Errorf("the jobs beside it are %v and %v", q.core.State(0), q.core.State(2))
			}
			switch refusal := q.refusals[1]; {
			case refusal != nil && (q.core.State(1) != jobqueue.None || refusal.GetReason() == "" || len(q.submitted) != 2):
				t.Errorf("it is refused with %v, and is %v", refusal, q.core.State(1))
			case refusal == nil && (q.core.State(1) == jobqueue.None) != (len(q.submitted) == 2):
				t.Errorf("it is %v, and %d jobs are written", q.core.State(1), len(q.submitted))
			}
			return nil
		})
	})
}

// FuzzStoredSpec: the specification of a row is the same whether it was decoded before or not, and
// as if the row were decoded as a whole.
func FuzzStoredSpec(f *testing.F) {
	for _, m := range []*eventspb.StoredJob{
		{},
		{SubmittedMs: 7},
		{Spec: &eventspb.JobSpec{}},
		{Spec: &eventspb.JobSpec{Require: []string{"a"}, Priority: 3}, SubmittedMs: 1 << 40},
		{Spec: &eventspb.JobSpec{Key: "k", Group: "g", After: []uint64{1, 2}}},
		{Spec: &eventspb.JobSpec{Priority: 99}},
	} {
		value, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
		f.Add(append(value, value...)) // two specifications are merged
		f.Add(append(value, 0x18, 1))  // a field that is not known
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		m := &eventspb.StoredJob{}
		var want *jobqueue.Spec
		wrong := proto.Unmarshal(value, m)
		if wrong == nil {
			want, wrong = specOf(m.GetSpec())
		}
		r := jobReader{specs: map[string]*jobqueue.Spec{}}
		for range 2 {
			got, err := r.spec(value)
			if (err != nil) != (wrong != nil) || err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%x: %+v, %v, want %+v, %v", value, got, err, want, wrong)
			}
		}
	})
}
