package override

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

const leaderPrefix = "leader/"

// Check returns why a process cannot be made the leader of a shard, nil if it can.
func Check(o *eventspb.LeaderOverride) error {
	switch {
	case o.GetShard() < 0:
		return fmt.Errorf("shard %d is negative", o.GetShard())
	case !stream.ValidName(o.GetLeader()):
		return fmt.Errorf("leader %q is not a name of a process: use 1 to 200 letters, digits, '.', '_' or '-'", o.GetLeader())
	}
	return check(o)
}

// Record returns the record of an override.
func Record(o *eventspb.LeaderOverride) (key, value []byte, err error) {
	if err := Check(o); err != nil {
		return nil, nil, err
	}
	value, err = proto.Marshal(o)
	return []byte(leaderPrefix + strconv.Itoa(int(o.GetShard()))), value, err
}

// Decode returns the override of a record, and nil for a record of another kind, such as one of a
// newer weir.
func Decode(key, value []byte) (*eventspb.LeaderOverride, error) {
	number, ok := strings.CutPrefix(string(key), leaderPrefix)
	if !ok {
		return nil, nil //nolint:nilnil // another kind
	}
	if value == nil {
		return nil, errors.New("a tombstone does not end an override: withdraw it")
	}
	o := &eventspb.LeaderOverride{}
	if err := proto.Unmarshal(value, o); err != nil {
		return nil, fmt.Errorf("not a LeaderOverride: %w", err)
	}
	if err := Check(o); err != nil {
		return nil, err
	}
	if number != strconv.Itoa(int(o.GetShard())) {
		return nil, fmt.Errorf("the override is of shard %d and has the key of %q", o.GetShard(), number)
	}
	return o, nil
}

// Withdraw returns the override that ends o.
func Withdraw(o *eventspb.LeaderOverride, at time.Time) *eventspb.LeaderOverride {
	return &eventspb.LeaderOverride{Shard: o.GetShard(), Leader: o.GetLeader(), AtMs: at.UnixMilli(), UntilMs: at.UnixMilli()}
}
