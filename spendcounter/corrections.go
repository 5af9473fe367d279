package spendcounter

import (
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcounter/spendpb"
)

// corrections are the promoted replays that changed the state of a task, oldest first. They are
// few: each one is a decision of an operator.
type corrections []*spendpb.Correction

// of returns the number of corrections of a campaign day of account. Only the days up to the
// correction are corrected: on a later day this counter is not more right than that of another
// datacentre, which has no such correction. A lifetime row has all corrections of its account, as
// if its first closed day was before all of them, so it has no fewer than any of its days.
func (list corrections) of(account []byte, day events.Day) (n uint32) {
	for _, c := range list {
		if (c.Account == "" || c.Account == string(account)) && day <= events.Day(c.UntilDay) {
			n++
		}
	}
	return n
}

// with returns the list with a correction of account, empty for all, at nowMs. It ends with the day
// that has begun somewhere: budget days are at most 14 hours ahead of UTC.
func (list corrections) with(account string, nowMs int64) corrections {
	until := events.UTCDay(nowMs + 14*3_600_000)
	return append(slices.Clip(list), &spendpb.Correction{Account: account, UntilDay: int32(until)})
}

// union returns the least list that covers each campaign day as often as either list does. It is
// for parts of one state: a promotion leaves an equal correction in each part that it changes.
func (list corrections) union(other corrections) corrections {
	count := func(of corrections, c *spendpb.Correction) (n int) {
		for _, x := range of {
			if x.Account == c.Account && x.UntilDay == c.UntilDay {
				n++
			}
		}
		return n
	}
	out := slices.Clip(list)
	for _, c := range other {
		if count(out, c) < count(other, c) {
			out = append(out, c)
		}
	}
	return out
}
