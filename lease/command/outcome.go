package command

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// Outcome returns the outcome of the command from the result of its write: made, or else the row
// that was found, if one was. detail explains every outcome but DONE.
func (o *Request) Outcome(row lease.Row, found, made bool) (outcome eventspb.LeaseOutcome, detail string) {
	at := o.Write.Args.Version
	switch {
	case made:
		return eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, ""
	case !found:
		return eventspb.LeaseOutcome_LEASE_OUTCOME_MISSING, "there is no such row"
	case o.IsMade(row):
		return eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, "" // an answer was lost, or the command came again
	case row.Version != at:
		return eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, fmt.Sprintf("the row has version %d, the command expects %d", row.Version, at)
	case o.Bucket != "" && row.Owner != o.Write.Region:
		return eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, fmt.Sprintf("the row is owned by region %q, not by %q", row.Owner, o.Write.Region)
	}
	for _, c := range o.Write.Rule.When {
		now := "the clock is at " + fmt.Sprint(o.Write.Now)
		switch {
		case c.Test == lease.Ended && row.Expires > 0 && row.Expires >= o.Write.Now-o.Write.Skew:
			return eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY, fmt.Sprintf("the lease ends at %d, and %s; clocks may differ by %d ms",
				row.Expires, now, o.Write.Skew)
		case c.Test == lease.Past && row.Available > o.Write.Now:
			return eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY, fmt.Sprintf("the resource becomes available at %d, and %s", row.Available,
				now)
		}
	}
	return eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, fmt.Sprintf("the row has version %d, but not the state that the command expects", at)
}

// IsMade reports whether a row is the result of the request's write. The time at which a
// transferred resource becomes available is not compared: it depends on when the transfer was made.
func (o *Request) IsMade(row lease.Row) bool {
	if o.Write.Rule == nil || row.Version != o.Write.Args.Version+1+o.Write.Rule.VersionJump {
		return false
	}
	want := o.Write.Args
	switch o.Kind {
	case "supersede":
		return row.State == want.State && row.Winner == want.Winner && row.Resource == o.Resource
	case "transfer":
		return row.Owner == want.Owner && row.Holder == "" && row.Available > 0
	default:
		return row.Owner == o.Write.Region && row.Holder == "" && row.Expires == 0 && row.Available == want.Available
	}
}

// HeadroomOutcome is Outcome of a headroom. asOf is the time of the row that is newer, 0 if it has
// none.
func (o *Request) HeadroomOutcome(asOf int64, made bool) (outcome eventspb.LeaseOutcome, detail string) {
	if made || asOf == o.Headroom.GetAsOfMs() {
		return eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, ""
	}
	return eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, fmt.Sprintf("the row is of %d ms, the command of %d ms", asOf, o.Headroom.GetAsOfMs())
}
