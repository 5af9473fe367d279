package state

import (
	"github.com/weirhq/weir/stream/state/packed"
)

// Int64Format is the format of rows of one number.
func Int64Format() Format[int64] {
	return Format[int64]{
		Append: func(dst []byte, n *int64) []byte { return packed.AppendInt(dst, *n) },
		Parse: func(value []byte) (int64, error) {
			r := packed.NewReader(value)
			n := r.Int()
			return n, r.End()
		},
	}
}
