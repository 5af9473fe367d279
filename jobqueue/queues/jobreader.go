package queues

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
)

// jobReader reads the rows of jobs at a takeover. Most jobs of a queue have one of few
// specifications, so it decodes each of these once.
type jobReader struct {
	shard  *Shard
	queue  string
	specs  map[string]*jobqueue.Spec // by their bytes
	status eventspb.JobStatus
}

// maxSpecs limits the specifications that a jobReader remembers.
const maxSpecs = 100_000

// open sends the jobs of each open segment to lists, in a list of free. It ends early when free is
// closed.
func (r *jobReader) open(segments []jobqueue.SegmentRow, free <-chan []jobqueue.JobRow, lists chan<- []jobqueue.JobRow) error {
	for i := range segments {
		if segments[i].Closed {
			continue
		}
		list, ok := <-free
		if !ok {
			return nil
		}
		list, err := r.segment(segments[i].First, list[:0])
		if err != nil {
			return err
		}
		lists <- list
	}
	return nil
}

// segment appends the jobs of a segment to list.
func (r *jobReader) segment(first jobqueue.ID, list []jobqueue.JobRow) ([]jobqueue.JobRow, error) {
	from, to := NumberKey(nil, r.queue, first), NumberKey(nil, r.queue, first+jobqueue.SegmentSize)
	scan := func(table byte, fn func(key, value []byte) error) error { return r.shard.Range(table, from, to, fn) }
	err := scan(TableStatus, func(key, value []byte) error {
		if err := proto.Unmarshal(value, &r.status); err != nil {
			return fmt.Errorf("table %d: %w", TableStatus, err)
		}
		list = append(list, jobRow(numberOf(key), &r.status))
		return nil
	})
	if err != nil {
		return nil, err
	}
	at, n := 0, 0
	err = scan(TableJobs, func(key, value []byte) error {
		id := numberOf(key)
		for at < len(list) && list[at].ID < id {
			at++
		}
		if at == len(list) || list[at].ID != id {
			return nil
		}
		spec, err := r.spec(value)
		if err != nil {
			return fmt.Errorf("table %d: %w", TableJobs, err)
		}
		list[n] = list[at]
		setSpec(&list[n], spec)
		n++
		return nil
	})
	return list[:n], err
}

// numberOf returns the number at the end of a key of NumberKey.
func numberOf(key []byte) jobqueue.ID { return jobqueue.ID(binary.BigEndian.Uint64(key[len(key)-8:])) }

// spec returns the specification of a row of TableJobs. It is shared: the caller does not change
// it.
func (r *jobReader) spec(value []byte) (*jobqueue.Spec, error) {
	raw, ok := specBytes(value)
	if ok {
		if spec := r.specs[string(raw)]; spec != nil {
			return spec, nil
		}
	}
	m := &eventspb.StoredJob{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, err
	}
	spec, err := specOf(m.GetSpec())
	if err != nil {
		return nil, err
	}
	if ok && spec.Key == "" && spec.Group == "" && spec.NotBefore == 0 && len(spec.After) == 0 && len(r.specs) < maxSpecs {
		r.specs[string(raw)] = spec
	}
	return spec, nil
}

// specBytes returns the specification in the bytes of an eventspb.StoredJob, as it is written: the
// specification, and then perhaps the time.
func specBytes(value []byte) (raw []byte, ok bool) {
	number, kind, n := protowire.ConsumeTag(value)
	if n < 0 || number != 1 || kind != protowire.BytesType {
		return nil, false
	}
	raw, size := protowire.ConsumeBytes(value[n:])
	if size < 0 {
		return nil, false
	}
	rest := value[n+size:]
	if len(rest) == 0 {
		return raw, true
	}
	number, kind, n = protowire.ConsumeTag(rest)
	if n < 0 || number != 2 || kind != protowire.VarintType {
		return nil, false
	}
	_, size = protowire.ConsumeVarint(rest[n:])
	return raw, size >= 0 && n+size == len(rest)
}
