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
	groups, err := adm.DescribeGroups(ctx, group)
	if err == nil {
		err = groups.Error()
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe group %s: %w", group, err)
	}
	return groups[group].Members, nil
}
