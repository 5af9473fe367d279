package processors

import (
	"testing"

	"github.com/weirhq/weir/stream"
)

// The key of a timer shows its clock, time and key.
func TestTimerTable(t *testing.T) {
	table := TimerTable()
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{append([]byte{byte(stream.WallTime)}, timerKey(1234, []byte("user"))...), `{"clock":"wall","at_ms":1234,"key":"user"}`},
		{append([]byte{byte(stream.WallTime)}, timerKey(1234, []byte("\xffkind/quiet\x00a/b"))...), `{"clock":"wall","at_ms":1234,"kind":"quiet","key":"a/b"}`},
		{append([]byte{byte(stream.EventTime)}, timerKey(-1, nil)...), `{"clock":"event","at_ms":0,"key":""}`},
	} {
		if text, err := table.Key(c.key); err != nil || string(text) != c.want {
			t.Errorf("%s, %v; want %s", text, err, c.want)
		}
	}
	for _, bad := range []string{"", "12345678", "\x02123456789"} {
		if text, err := table.Key([]byte(bad)); err == nil {
			t.Errorf("%q is shown as %s", bad, text)
		}
	}
}
