package connect

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// SkipFlags are the flags of a command that skips records for ever.
type SkipFlags struct {
	To   int64 // offset of the next record
	Why  string
	Yes  bool // skip; without it nothing is changed
	Wait time.Duration
}

// maxWhy is the length of --why: every transaction of the partition repeats it.
const maxWhy = 200

// Add adds the flags to a command. verb is what is done with the next record, such as copy.
func (s *SkipFlags) Add(c *cobra.Command, verb string) {
	c.Flags().Int64Var(&s.To, "to", 0, "offset of the next record to "+verb)
	c.Flags().StringVar(&s.Why, "why", "", "reason, kept with the skipped range; at most 200 bytes; required with --yes")
	c.Flags().BoolVar(&s.Yes, "yes", false, "skip; without it nothing is changed")
	c.Flags().DurationVar(&s.Wait, "wait", 30*time.Second, "how long to wait until a process has carried it out")
	cli.Must(c.MarkFlagRequired("to"))
}

// Check returns a usage error if the reason is missing or too long.
func (s *SkipFlags) Check() error {
	switch {
	case s.Yes && s.Why == "":
		return cli.UsageError("--why is missing", "give --why the reason for the loss; it is kept in the state")
	case len(s.Why) > maxWhy:
		return cli.UsageError(fmt.Sprintf("--why has %d bytes", len(s.Why)), fmt.Sprintf("use at most %d", maxWhy))
	}
	return nil
}
