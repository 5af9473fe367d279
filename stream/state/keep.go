package state

import "github.com/weirhq/weir/stream"

// Keep makes the table hold the last value of each key of an input, for joins with other inputs. A
// record without a value removes its key. A key or a value that the table's codecs cannot decode is
// rejected, see stream.Decode.
//
// The topic is not read to its end before the records of other inputs: see the guide
// docs/write-a-processor.md.
func Keep[K, V any](topic string, t *Table[K, V]) stream.Callback {
	return stream.OnBytes(topic, func(c *stream.Context, r *stream.Record) error {
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
