package state

import "github.com/weirhq/weir/stream"

// Keep makes the table hold the last value of each key of an input, for joins with other inputs. A
// record without a value removes its key. A record without a key is rejected, with
// stream.ReasonNoKey, and so is one whose key or value the table's codecs cannot decode, see
// stream.Decode.
//
// The topic is not read to its end before the records of other inputs: see the guide
// docs/write-a-processor.md.
func Keep[K, V any](topic string, t *Table[K, V]) stream.Callback {
	return stream.OnBytes(topic, func(c *stream.Context, r *stream.Record) error {
		if r.Key == nil {
			return stream.Rejectf(stream.ReasonNoKey, "the key is null, and is that of the table %s", t)
		}
		key, err := stream.Decode(t.keys, r.Key)
		if err != nil {
			return err
		}
		if r.Value == nil {
			t.Delete(c, key)
			return nil
		}
		v, err := stream.Decode(t.values, r.Value)
		if err != nil {
			return err
		}
		t.Put(c, key, v)
		return nil
	})
}
