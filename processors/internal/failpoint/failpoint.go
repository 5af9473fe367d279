package failpoint

import "context"

// Point is a moment in a commit.
type Point string

// The edges, in their order.
const (
	Flushed  Point = "flushed"  // the handlers gave their changes; nothing is produced
	Produced Point = "produced" // everything is handed to the client; the brokers may have some of it
	Written  Point = "written"  // the brokers have all of it, and the transaction is open
	Ended    Point = "ended"    // End has returned; the store knows nothing of it
	Applied  Point = "applied"  // the store has it
)

// The edges of work on an application that does not run.
const (
	OfflineTopics    Point = "offline_topics"    // its topics are made; they are empty
	OfflineProduced  Point = "offline_produced"  // everything is handed to the client; the transaction is open
	OfflineCommitted Point = "offline_committed" // the transaction is committed
)

// Hook is called at each edge. An error ends the worker there, as a crash would.
type Hook func(at Point) error

type key struct{}

// WithHook gives ctx a hook.
func WithHook(ctx context.Context, h Hook) context.Context { return context.WithValue(ctx, key{}, h) }

// HookFrom is the hook of ctx; nil if there is none.
func HookFrom(ctx context.Context) Hook {
	h, _ := ctx.Value(key{}).(Hook)
	return h
}

// Hit calls the hook of ctx, if there is one.
func Hit(ctx context.Context, at Point) error {
	if h := HookFrom(ctx); h != nil {
		return h(at)
	}
	return nil
}
