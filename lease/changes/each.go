package changes

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// chunk is how many records are decoded before their rows are read.
const chunk = 1024

// Fold is what a core does with changes.
type Fold struct {
	// Row is the key of the row that a change is about; "" if it is about none that is worth to be read ahead.
	Row func(c *eventspb.LeaseChange) string
	// Prefetch reads rows ahead.
	Prefetch func(keys []string) error
	// Change folds a change, or refuses it; then it has left no trace. Its error means that state could not be read.
	Change func(c *eventspb.LeaseChange) (*Refusal, error)
}

// Each folds the changes of b in their order.
func (f *Fold) Each(b *stream.Batch) error {
	for from := 0; from < len(b.Records); from += chunk {
		if err := f.eachChunk(b, from, min(from+chunk, len(b.Records))); err != nil {
			return err
		}
	}
	slices.SortFunc(b.Rejects, func(x, y stream.Reject) int { return x.Index - y.Index })
	return nil
}

func (f *Fold) eachChunk(b *stream.Batch, from, to int) error {
	changes := make([]eventspb.LeaseChange, to-from)
	keys := make([]string, 0, len(changes))
	broken := map[int]bool{}
	for i := range changes {
		if err := proto.Unmarshal(b.Records[from+i].Value, &changes[i]); err != nil {
			b.Reject(from+i, ReasonUndecodable, err.Error())
			broken[i] = true
		} else if key := f.Row(&changes[i]); key != "" {
			keys = append(keys, key)
		}
	}
	if err := f.Prefetch(keys); err != nil {
		return err
	}
	for i := range changes {
		if broken[i] {
			continue
		}
		bad, err := f.Change(&changes[i])
		if err != nil {
			return err
		}
		if bad != nil {
			b.Reject(from+i, bad.Reason, bad.Detail)
		}
	}
	return nil
}

// RowKey is where the row of a resource or a key of a change's pool is.
func RowKey(c *eventspb.LeaseChange, name string) string {
	return c.Client + "\x00" + c.Pool + "\x00" + name
}
