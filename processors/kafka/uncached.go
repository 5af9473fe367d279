package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Uncached returns a context with which kadm asks a broker for topics each time. Otherwise kadm
// answers from the client's metadata of the last five seconds, which may not have a topic that was
// created in the meantime, or still have one that was deleted.
func Uncached(ctx context.Context) context.Context {
	return kadm.WithAuthorizedOps(ctx) // kadm caches nothing that includes the authorized operations
}
