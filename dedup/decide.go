package dedup

import (
	"github.com/weirhq/weir/lease"
)

// decision is the outcome for the rows of a key at one time. Numbers are indices of the rows.
type decision struct {
	live   []int // leased, and their end is more than the skew away
	winner int   // the first-granted row of live without a command against it; -1: no such row
	losers []int // rows to supersede
}

// decide returns the decision for rows at nowMs.
func decide(rows []Row, nowMs, skew int64) decision {
	v := decision{winner: -1}
	for i := range rows {
		r := &rows[i]
		if r.State != lease.Leased || r.Expires <= nowMs+skew {
			continue
		}
		v.live = append(v.live, i)
		if r.CommandedWinner == "" &&
			(v.winner < 0 || lease.GrantedBefore(r.Region, r.Granted, rows[v.winner].Region, rows[v.winner].Granted)) {
			v.winner = i
		}
	}
	if v.winner < 0 {
		return v
	}
	for i := range rows {
		r := &rows[i]
		switch {
		case i == v.winner || r.Expires <= nowMs+skew:
		case r.State == lease.Leased, r.State == lease.Superseded && r.Winner != rows[v.winner].Region:
			v.losers = append(v.losers, i)
		}
	}
	return v
}
