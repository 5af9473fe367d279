package liberator

import "testing"

// The descriptions show rows as the liberator writes them.
func TestTables(t *testing.T) {
	r := Resource{Version: 7, Expires: 5, Owner: "eu", Timer: 6, Tries: 1, HasSlot: true}
	p := pool{version: 3, quarantine: 500, buckets: 8}
	for i, c := range []struct {
		value []byte
		want  string
	}{
		{r.append(nil), `{"version":7,"expires_ms":5,"owner":"eu","timer_ms":6,"tries":1,"has_slot":true}`},
		{pools().AppendFunc(nil, p), `{"version":3,"quarantine_ms":500,"buckets":8}`},
	} {
		table := tables()[i]
		if text, err := table.Value(c.value); err != nil || string(text) != c.want {
			t.Errorf("%s: %s, %v; want %s", table.Name, text, err, c.want)
		}
		if _, err := table.Value(c.value[:len(c.value)-1]); err == nil {
			t.Errorf("%s: half a value is shown", table.Name)
		}
	}
}
