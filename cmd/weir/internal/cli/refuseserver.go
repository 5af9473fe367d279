package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// noServerNote is the annotation of a command that asks no server.
const noServerNote = "weir_no_server"

// RefuseServer makes c and the commands below it refuse --server. why is a sentence about what they
// work on, such as "it works on data_dir of this machine". WEIR_SERVER is not refused: it is for
// other commands, too.
func RefuseServer(c *cobra.Command, why string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[noServerNote] = why
}

// checkServer returns a usage error if --server is given and c or a command above it refuses it.
func (a *App) checkServer(c *cobra.Command) error {
	if a.server == "" {
		return nil
	}
	for at := c; at != nil; at = at.Parent() {
		if why, refuses := at.Annotations[noServerNote]; refuses {
			return UsageError(fmt.Sprintf("--server is given, and `%s` asks no server: %s", c.CommandPath(), why), "leave --server out")
		}
	}
	return nil
}
