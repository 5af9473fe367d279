package dev

import (
	"testing"

	"github.com/weirhq/weir/internal/config"
)

// The line "join" has the settings of topics and table that are not the defaults, and no others.
func TestJoinSettings(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"WEIR_MEMORY=1GiB", "WEIR_LEASES_SKEW=1s"}, ""},
		{[]string{"WEIR_LEASES_PARTITIONS=6", "WEIR_DC=eu-1"}, "   with WEIR_DC=eu-1 WEIR_LEASES_PARTITIONS=6"},
	} {
		cfg, err := config.Load(config.Options{Environ: c.environ})
		if err != nil {
			t.Fatal(err)
		}
		if got := (&dev{cfg: cfg}).environ(); got != c.want {
			t.Errorf("%q: %q, want %q", c.environ, got, c.want)
		}
	}
}
