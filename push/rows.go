package push

import (
	"slices"

	"github.com/weirhq/weir/processors/logreader"
)

// rows are records that wait to be handed over: the newest of each key, in the order of the log.
type rows struct {
	list  []logreader.Record // without a key: a newer one follows
	at    map[string]int     // index in list, by key
	bytes int
}

func newRows() rows { return rows{at: map[string]int{}} }

func (r *rows) put(rec logreader.Record) {
	if n, ok := r.at[string(rec.Key)]; ok {
		r.bytes -= len(r.list[n].Key) + len(r.list[n].Value)
		r.list[n] = logreader.Record{}
	}
	r.at[string(rec.Key)] = len(r.list)
	r.list = append(r.list, rec)
	r.bytes += len(rec.Key) + len(rec.Value)
	if len(r.list) > 2*len(r.at)+64 {
		r.shrink()
	}
}

// shrink removes the records that a newer one follows.
func (r *rows) shrink() {
	r.list = slices.DeleteFunc(r.list, func(rec logreader.Record) bool { return rec.Key == nil })
	for n, rec := range r.list {
		r.at[string(rec.Key)] = n
	}
}

// each calls fn for each record, and forgets them all.
func (r *rows) each(fn func(logreader.Record)) {
	for _, rec := range r.list {
		if rec.Key != nil {
			fn(rec)
		}
	}
	*r = newRows()
}
