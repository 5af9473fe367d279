package override

import (
	"fmt"
	"strconv"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// Leaders is the kind by which a process leads a shard.
func Leaders() Kind[*eventspb.LeaderOverride] {
	type override = eventspb.LeaderOverride
	return Kind[*override]{
		name: "LeaderOverride", prefix: "leader/", new: func() *override { return &override{} }, check: checkLeader,
		id: func(o *override) string { return strconv.Itoa(int(o.GetShard())) },
		ended: func(o *override, atMs int64) *override {
			return &override{Shard: o.GetShard(), Leader: o.GetLeader(), AtMs: atMs, UntilMs: atMs}
		},
	}
}

func checkLeader(o *eventspb.LeaderOverride) error {
	switch {
	case o.GetShard() < 0:
		return fmt.Errorf("shard %d is negative", o.GetShard())
	case !stream.ValidName(o.GetLeader()):
		return fmt.Errorf("leader %q is not a name of a process: use 1 to 200 letters, digits, '.', '_' or '-'", o.GetLeader())
	}
	return nil
}
