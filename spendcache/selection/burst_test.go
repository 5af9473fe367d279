package selection

import (
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// TestBurst: the reader's own dataset has lost records, and the others have not. They are 2 s
// behind. When the traffic rises from 10 to 60 events per second, they have fewer events of the
// last 60 s for some seconds. The reader should not go back to the dataset that has lost records.
func TestBurst(t *testing.T) {
	t.Skip("known weakness: a deficit within the allowed lag makes a dataset incomplete when traffic rises")
	r := newReader(t, "eu", "us", "ap")
	delete(r.datasets, "ap")
	total := func(sec int) (n int) { // events up to a second
		for s := range sec {
			n += 10
			if s >= 100 && s < 105 {
				n += 50
			}
		}
		return n
	}
	for sec := 62; sec < 130; sec++ {
		for dc, d := range r.datasets {
			behind, lost := 2, 0
			if dc == "eu" {
				behind, lost = 0, 26
			}
			to := sec - behind
			all, before := uint64(total(to)-lost), uint64(total(to-60))
			d.Health.Origins = []*eventspb.OriginHealth{{
				Dc: "eu", WatermarkMs: at + int64(to)*1000, Count_60S: uint64(total(to)) - before, CumulativeCount: all, Lost: uint64(lost),
			}}
		}
		if sec == 62 {
			r.datasets["eu"].Age = time.Hour // the reader begins with us
			r.expect(1, Normal, "us")
			r.datasets["eu"].Age = 0
		}
		r.expect(1, Normal, "us")
	}
}
