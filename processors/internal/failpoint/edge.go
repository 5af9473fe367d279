package failpoint

import "context"

// Edge is a moment in a commit.
type Edge string

// The edges, in their order.
const (
	Flushed  Edge = "flushed"  // the handlers gave their changes; nothing is produced
	Produced Edge = "produced" // everything is handed to the client; the brokers may have some of it
	Written  Edge = "written"  // the brokers have all of it, and the transaction is open
	Ended    Edge = "ended"    // End has returned; the store knows nothing of it
	Applied  Edge = "applied"  // the store has it
)

// Hook is called at each edge. An error ends the worker there, as a crash would.
type Hook func(at Edge) error

type key struct{}

// With gives ctx a hook.
func With(ctx context.Context, h Hook) context.Context { return context.WithValue(ctx, key{}, h) }

// From is the hook of ctx; nil if there is none.
func From(ctx context.Context) Hook {
	h, _ := ctx.Value(key{}).(Hook)
	return h
}
