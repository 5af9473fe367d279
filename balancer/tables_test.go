package balancer

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/balancer/forecast"
)

// The descriptions show rows as the balancer writes them, and report damaged ones.
func TestTables(t *testing.T) {
	r := row{version: 7, owner: "eu", available: 1234}
	leased := row{version: 8, owner: "us", holder: 9, expires: 5}
	profile := (&forecast.Profile{}).Encode(nil)
	for _, c := range []struct {
		table byte
		key   bool
		bytes []byte
		want  string
	}{
		{TableResources, false, r.encode(nil), `{"version":7,"owner":"eu","leased":false,"expires_ms":0,"available_ms":1234,"gone":false}`},
		{TableResources, false, leased.encode(nil), `{"version":8,"owner":"us","leased":true,"expires_ms":5,"available_ms":0,"gone":false}`},
		{TableResources, false, []byte{2}, "error"},
		{TableFree, true, freeKey(joinNames("acme", "gpu"), &r, "node-1"), `{"client":"acme","pool":"gpu","region":"eu","available_ms":1234,"resource":"node-1"}`},
		{TableFree, true, []byte("acme"), "error"},
		{TableProfiles, false, profile, `{"hours_of_day":[0,`},
		{TableProfiles, false, profile[1:], "error"},
		{TableTask, false, nil, `{"`},
	} {
		table := tables()[c.table-1]
		show := table.Value
		if c.key {
			show = table.Key
		}
		text, err := show(c.bytes)
		if err != nil {
			text = []byte("error: " + err.Error())
		}
		if table.Number != c.table || !strings.HasPrefix(string(text), c.want) {
			t.Errorf("table %d, %s: %s, want %s", table.Number, table.Name, text, c.want)
		}
	}
}
