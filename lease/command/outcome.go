package command

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// Outcome says what the answer to the order's write means: whether it was made, or else what was found, if anything. detail
// is a sentence about all but DONE.
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
		return eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, fmt.Sprintf("the row is at version %d, the command is of %d", row.Version, at)
	case o.Bucket != "" && row.Owner != o.Write.Region:
		return eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, fmt.Sprintf("the row is of region %q, not of %q", row.Owner, o.Write.Region)
	}
	for _, c := range o.Write.Rule.When {
		now := "the clock says " + fmt.Sprint(o.Write.Now)
		switch {
		case c.Test == lease.Ended && row.Expires > 0 && row.Expires >= o.Write.Now-o.Write.Skew:
			return eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY, fmt.Sprintf("the lease ends at %d, and %s; clocks may be %d ms apart", row.Expires, now, o.Write.Skew)
		case c.Test == lease.Past && row.Available > o.Write.Now:
			return eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY, fmt.Sprintf("the resource is available at %d, and %s", row.Available, now)
		}
	}
	return eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, fmt.Sprintf("the row is at version %d, and not what the command takes it for", at)
}

// IsMade says whether a row is what the order's write makes of it, as far as that can be known: when a transfer was made,
// and so from when its resource is available, cannot.
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

// HeadroomOutcome is Outcome of a headroom: as of when the row that refused it is, 0 if there is no row or it has none.
func (o *Request) HeadroomOutcome(asOf int64, made bool) (outcome eventspb.LeaseOutcome, detail string) {
	if made || asOf == o.Headroom.GetAsOfMs() {
		return eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, ""
	}
	return eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, fmt.Sprintf("the row is as of %d, the command of %d", asOf, o.Headroom.GetAsOfMs())
}
