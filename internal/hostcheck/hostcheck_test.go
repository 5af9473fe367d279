package hostcheck

import "testing"

func TestKnown(t *testing.T) {
	for header, want := range map[string]bool{
		"": true, "127.0.0.1": true, "127.0.0.1:8000": true, "[::1]:8000": true, "[::1]": true, "LocalHost:1": true, "Db:8000": true, "db": true,
		"evil.example": false, "evil.example:8000": false, "127.0.0.1.evil.example": false, "0x7f000001": false, "localhost.": false,
		"10.0.0.1:8000": false, "db.evil.example": false, ":8000": false,
	} {
		if got := Known(header, []string{"db"}); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
