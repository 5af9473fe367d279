//go:build synctests

package push

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weirhq/weir/stream"
)

// The tables of the tests.
const (
	spendTable  = 1
	otherTable  = 2 // is not copied
	hoursTable  = 9
	healthTable = 12
)

func copiedTables() []byte { return []byte{spendTable, hoursTable, healthTable} }

// entry is a record of the dataset. Its value is its number, which grows in a partition also where
// the topic is created again; a tombstone has the number, too, and no value.
type entry struct {
	key     string
	n       int
	deleted bool
}

func (e entry) message() stream.Message {
	m := stream.Message{Key: []byte(e.key)}
	if !e.deleted {
		m.Value = strconv.AppendInt(nil, int64(e.n), 10)
	}
	return m
}

// judge compares the copy of one partition with its dataset: the last values are equal (PUSH-1),
// the values of a key are in order (PUSH-3), and each health record is behind the rows that were
// before it (PUSH-4). It returns the differences.
func judge(partition int32, dataset []entry, copies []stream.Record) (wrong []string) {
	add := func(format string, a ...any) {
		wrong = append(wrong, fmt.Sprintf("partition %d: ", partition)+fmt.Sprintf(format, a...))
	}
	has, newest := map[string]int{}, map[string]int{}
	next, want := 0, map[string]entry{} // the last entries of the dataset before a health record
	for _, r := range copies {
		key := string(r.Key)
		if r.Value == nil {
			delete(has, key)
			continue
		}
		n, err := strconv.Atoi(string(r.Value))
		if err != nil {
			continue // of another program
		}
		if n < newest[key] {
			add("%q has value %d behind %d", key, n, newest[key])
		}
		has[key], newest[key] = n, n
		if key[0] != healthTable {
			continue
		}
		for ; next < len(dataset) && dataset[next].n < n; next++ {
			want[dataset[next].key] = dataset[next]
		}
		for key, e := range want {
			got, found := has[key]
			switch {
			case !slices.Contains(copiedTables(), key[0]) || key[0] == healthTable:
			case e.deleted && found && got < e.n:
				add("health %d is before the deletion %d of %q", n, e.n, key)
			case !e.deleted && got < e.n && !(!found && deletedAfter(dataset, e)):
				add("health %d is before the value %d of %q: there is %d", n, e.n, key, got)
			}
		}
	}
	last := map[string]int{}
	for _, e := range dataset {
		switch {
		case !slices.Contains(copiedTables(), e.key[0]):
		case e.deleted:
			delete(last, e.key)
		default:
			last[e.key] = e.n
		}
	}
	ends := map[string]int{} // the final values; -1: of another program
	for _, r := range copies {
		n, err := strconv.Atoi(string(r.Value))
		switch key := string(r.Key); {
		case key == "":
		case r.Value == nil:
			delete(ends, key)
		case err != nil:
			ends[key] = -1
		default:
			ends[key] = n
		}
	}
	for key, n := range last {
		if ends[key] != n {
			add("%q ends with %d, want %d", key, ends[key], n)
		}
	}
	for key, n := range ends {
		if _, ok := last[key]; !ok {
			add("%q ends with %d, and the dataset does not have it", key, n)
		}
	}
	return wrong
}

// deletedAfter reports whether the dataset has a later deletion of the key of e.
func deletedAfter(dataset []entry, e entry) bool {
	return slices.ContainsFunc(dataset, func(d entry) bool { return d.n > e.n && d.key == e.key && d.deleted })
}
