package failpoint

import "context"

// Point is a step of a commit at which a hook is called.
type Point string

// The failpoints of a commit, in their order.
const (
	Flushed  Point = "flushed"  // the handlers have returned their changes; nothing is produced
	Produced Point = "produced" // all records are in the client's buffer; the brokers may have some of them
	Written  Point = "written"  // the brokers have acknowledged all records; the transaction is open
	Ended    Point = "ended"    // the transaction is committed; the store has none of its changes
	Applied  Point = "applied"  // the store has the changes
)

// The failpoints of offline operations, which run while the application is stopped.
const (
	OfflineTopics    Point = "offline_topics"    // the new topics exist and are empty
	OfflineProduced  Point = "offline_produced"  // all records are in the client's buffer; the transaction is open
	OfflineCommitted Point = "offline_committed" // the transaction is committed
)

// Hook is called at each failpoint. An error ends the worker there, as a crash would.
type Hook func(at Point) error

type key struct{}

// WithHook returns a context that carries the hook h.
func WithHook(ctx context.Context, h Hook) context.Context { return context.WithValue(ctx, key{}, h) }

// HookFrom returns the hook of ctx, or nil.
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
