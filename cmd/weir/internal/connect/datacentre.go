package connect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/internal/config"
)

// KnownDatacentre returns a usage error if dc is not in known, which are datacentres or other
// datacentres, by noun. where is the flag or the argument that names dc.
func KnownDatacentre(where, dc, noun string, known []string) error {
	if slices.Contains(known, dc) {
		return nil
	}
	do := "the " + noun + "s are: " + strings.Join(known, ", ")
	if n, ok := config.Nearest(dc, known); ok {
		do = "did you mean " + n + "?"
	}
	return cli.UsageError(fmt.Sprintf("%s: no %s is called %q", where, noun, dc), do)
}
