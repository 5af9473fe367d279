package spendcounter

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// AccountOf returns the account of a record of the events or the adjustments topic, of any
// generation. A record copied from another datacentre has an error: its partition is that of its
// origin.
func AccountOf(topic string, value []byte) (string, error) {
	account := ""
	switch {
	case events.IsAnyGenerationOf(topic, events.EventsTopic):
		v := events.View{}
		if err := v.Decode(value); err != nil {
			return "", fmt.Errorf("no account can be read: %w", err)
		}
		account = string(v.Account)
	case events.IsAnyGenerationOf(topic, events.AdjustmentsTopic):
		a := &eventspb.Adjustment{}
		if err := proto.Unmarshal(value, a); err != nil {
			return "", fmt.Errorf("no account can be read: %w", err)
		}
		account = a.Account
	default:
		return "", fmt.Errorf("%s holds copies: replay the record in the datacentre of its origin", topic)
	}
	if account == "" {
		return "", errors.New("the record has no account")
	}
	return account, nil
}
