package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// wakeEvery is the time after which a client that stands still looks again for partitions to fetch.
const wakeEvery = time.Second

// Wake makes a client that is polled look for partitions to fetch, once a second. The client begins
// to fetch from a broker when something has changed: a partition is resumed, the group has assigned
// one, offsets were set. Each of these also restarts its fetches, and a request to begin that comes
// within the restart of another can be lost on a busy machine. The client would then fetch nothing
// from the broker until it reads the metadata again, minutes later. The zero value is ready for
// use by one goroutine.
type Wake struct{ last time.Time }

// Look is called before each poll.
func (w *Wake) Look(cl *kgo.Client) {
	if now := time.Now(); now.Sub(w.last) >= wakeEvery {
		w.last = now
		cl.ResumeFetchTopics() // of no topic: it only looks
	}
}
