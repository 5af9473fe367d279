package spendcounter

// tally is the charges and events of a part of a campaign day: of an hour, or of a line item and
// arm.
type tally struct {
	charged int64
	events  uint64
}

func (t *tally) add(o tally) { t.charged, t.events = t.charged+o.charged, t.events+o.events }
