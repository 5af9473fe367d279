package dedup

import (
	"strings"
	"testing"
)

// The descriptions show rows as dedup writes them.
func TestTables(t *testing.T) {
	k := Key{Timer: 4, Rows: []Row{{Region: "eu", Version: 3, State: RowDeleted}}}
	p := pool{version: 3, mode: modeRelease, quarantine: 500, buckets: 8}
	for i, c := range []struct {
		value []byte
		want  string
	}{
		{k.append(nil), `{"rows":[{"region":"eu","version":3,"state":"gone",`},
		{pools().AppendFunc(nil, p), `{"version":3,"mode":"release","quarantine_ms":500,"buckets":8}`},
	} {
		table := tables()[i]
		if text, err := table.Value(c.value); err != nil || !strings.HasPrefix(string(text), c.want) {
			t.Errorf("%s: %s, %v; want %s", table.Name, text, err, c.want)
		}
		if _, err := table.Value(c.value[:len(c.value)-1]); err == nil {
			t.Errorf("%s: half a value is shown", table.Name)
		}
	}
}
