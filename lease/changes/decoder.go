package changes

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// chunk is the number of records that are decoded before their state rows are read.
const chunk = 1024

// Change is a decoded record of lease.changes.
type Change struct {
	eventspb.LeaseChange
	RecordMs int64  // the timestamp of the record, Unix ms
	RowKey   string // the key that Decoder.RowKey returned

	resource    eventspb.LeaseChange_Resource // what Row points to, in place of an allocation
	resourceRow eventspb.LeaseResource
}

// Decoder gives the valid changes of a batch to a processor.
type Decoder struct {
	// Rules are the checks of a change before Fold.
	Rules Rules
	// RowKey returns the key of the state row that Fold will read for a change; empty if it reads
	// none. Nil if nothing is prefetched.
	RowKey func(c *Change) string
	// Prefetch reads the state rows of keys, in any order. Its error ends Each.
	Prefetch func(keys []string) error
	// Fold applies a valid change to the state. It must not keep c or its row. Its error means that
	// the state could not be read, and ends Each.
	Fold func(c *Change) error
}

// Each decodes and validates the records of b, rejects the invalid ones, and folds the others in
// their order. An error is that of Prefetch or Fold.
func (d *Decoder) Each(b *stream.Batch) error {
	for from := 0; from < len(b.Records); from += chunk {
		if err := d.eachChunk(b, from, min(from+chunk, len(b.Records))); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) eachChunk(b *stream.Batch, from, to int) error {
	list := make([]Change, to-from)
	keys := make([]string, 0, len(list))
	rejected := make([]bool, len(list))
	for i := range list {
		c := &list[i]
		if err := d.Decode(&b.Records[from+i], c); err != nil {
			reject, ok := errors.AsType[*stream.RejectError](err)
			if !ok {
				return err
			}
			b.Reject(from+i, reject.Reason, reject.Detail)
			rejected[i] = true
			continue
		}
		if d.RowKey == nil {
			continue
		}
		if c.RowKey = d.RowKey(c); c.RowKey != "" {
			keys = append(keys, c.RowKey)
		}
	}
	if d.Prefetch != nil {
		if err := d.Prefetch(keys); err != nil {
			return err
		}
	}
	for i := range list {
		if rejected[i] {
			continue
		}
		if err := d.Fold(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// Decode decodes and validates one record into c, which is zero. Its error is a
// *stream.RejectError with one of Reasons.
func (d *Decoder) Decode(r *stream.Record, c *Change) error {
	if !c.decodeCommon(r.Value) {
		*c = Change{}
		if err := proto.Unmarshal(r.Value, &c.LeaseChange); err != nil {
			return stream.Rejectf(ReasonUndecodable, "%v", err)
		}
	}
	c.RecordMs = r.TimeMs
	return d.Rules.check(c)
}
