package dedup

import (
	"github.com/weirhq/weir/lease"
)

// decision is what the rows of a key come to at one time. Numbers are indices of the key's rows.
type decision struct {
	live   []int // leased, and not near the end
	winner int   // one of them; -1: there is none against which no command is out
	losers []int // those who are to be told that the winner won
}

// decide looks at rows at nowMs.
func decide(rows []Row, nowMs, skew int64) decision {
	v := decision{winner: -1}
	for i := range rows {
		r := &rows[i]
		if r.State != lease.Leased || r.Expires <= nowMs+skew {
			continue
		}
		v.live = append(v.live, i)
		if r.CommandedWinner == "" && (v.winner < 0 || lease.GrantedBefore(r.Region, r.Granted, rows[v.winner].Region, rows[v.winner].Granted)) {
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
