package group

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// DescribeMembers returns the members of a group. A group that does not exist has none.
func DescribeMembers(ctx context.Context, adm *kadm.Client, group string) ([]kadm.DescribedGroupMember, error) {
	members, _, err := Describe(ctx, adm, group)
	return members, err
}

// Describe returns the members of a group, and whether they are of another program: what these send
// to each other has another format.
func Describe(ctx context.Context, adm *kadm.Client, group string) (members []kadm.DescribedGroupMember, foreign bool, err error) {
	groups, err := adm.DescribeGroups(ctx, group)
	if err == nil {
		err = groups.Error()
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("describe group %s: %w", group, err)
	}
	g := groups[group]
	return g.Members, g.Protocol != "" && g.Protocol != Assignor{}.ProtocolName(), nil // a group that rebalances has no protocol
}
