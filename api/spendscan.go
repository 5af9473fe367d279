package api

import (
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// SpendScan selects campaign days of one partition.
type SpendScan struct {
	Partition int32
	// Account is the account of the campaign days. Without an account, and if FirstDay is LastDay,
	// those campaign days are enough that may be among the first MaxTop of their currency, by
	// charged micros or with ByEvents by events. A source need not return others. Otherwise the
	// days of a campaign follow each other.
	Account           string
	ByEvents          bool
	Hours             bool          // the campaign days have all their hours
	From              []byte        // of an account: the key of the first campaign day; empty: no bound
	FirstDay, LastDay int32         // YYYYMMDD; 0: no bound. Lifetime rows are selected without bounds only
	Currency          string        // empty: all
	MaxStaleness      time.Duration // of a standby; 0: only the owner
	// Total, if not nil, gets the sums over all campaign days that are selected, also those that
	// the source does not return, once for each currency.
	Total func(*weirpb.CurrencyTotal) error
	// Part, if not nil, gets each line item and arm that has a row of its own, or the sum of those
	// beyond the bound, before SpendFunc gets their campaign day.
	Part func(*eventspb.PartSpend)
}

// SpendWatch selects a campaign of an account.
type SpendWatch struct {
	Partition         int32 // of the account
	Account, Campaign string
}

// SpendFunc gets a campaign day and its key in the store. The key is valid during the call only.
type SpendFunc func(key []byte, s *eventspb.Spend) error
