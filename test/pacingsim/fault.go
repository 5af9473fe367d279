//go:build synctests

package pacingsim

import "time"

// Kind is what is away.
type Kind string

// Kinds of faults.
const (
	Unread Kind = "the service cannot read the spend"
	Stale  Kind = "the spend does not get newer"
	Down   Kind = "the service is down"
	Cut    Kind = "an ad server is cut off"
	// Unheard: the others do not know the parameters of the datacentre, which knows theirs.
	Unheard Kind = "the packs of the service do not arrive"
)

// Fault is a Kind from From until To, as times of the day.
type Fault struct {
	Kind
	From, To time.Duration
	DC       int // of the service; -1: all datacentres
	Server   int // of Cut; -1: all
}

// active returns the faults of a datacentre at a time of the day, by kind. There is one of a kind
// at a time.
func active(list []Fault, at time.Duration, dc int) map[Kind]Fault {
	m := map[Kind]Fault{}
	for _, f := range list {
		if f.From <= at && at < f.To && (f.DC == dc || f.DC < 0) {
			m[f.Kind] = f
		}
	}
	return m
}
