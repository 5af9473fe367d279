package render

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/weirhq/weir/api/weirpb"
)

// DatasetRow is a dataset, over all shards.
type DatasetRow struct {
	Dataset    string     `json:"dataset"`
	Chosen     int        `json:"chosen"`  // shards that use it
	Healthy    int        `json:"healthy"` // shards in which it is healthy
	Shards     int        `json:"shards"`
	AgeSeconds *float64   `json:"age_seconds,omitempty"` // greatest; nil: no shard has a health row
	Lag        DatasetLag `json:"lag_seconds"`           // greatest
	Lacks      float64    `json:"lacks_percent"`         // greatest
	Last60s    uint64     `json:"last_60s"`
	Lost       uint64     `json:"lost"`
	Reason     string     `json:"reason"` // why it is not healthy in the first such shard, or why it is used
}

// ShardDatasetRow is a dataset of a shard.
type ShardDatasetRow struct {
	Shard      int32      `json:"shard"`
	Dataset    string     `json:"dataset"`
	Chosen     bool       `json:"chosen"`
	Healthy    bool       `json:"healthy"`
	AgeSeconds *float64   `json:"age_seconds,omitempty"`
	Lag        DatasetLag `json:"lag_seconds"`
	LagOrigin  string     `json:"lag_origin" table:"wide"`
	Lacks      float64    `json:"lacks_percent"`
	Last60s    uint64     `json:"last_60s"`
	Lost       uint64     `json:"lost"`
	Reason     string     `json:"reason"`
	Pacing     string     `json:"pacing" table:"wide"` // datacentre whose parameters the accounts get
}

// DatasetLag is how far a dataset is behind the newest one. In JSON and CSV it is the number of
// seconds.
type DatasetLag struct {
	Seconds float64
	// Never is an origin of which the dataset has no event, although another dataset has: Seconds
	// is a substitute. Empty: the dataset has events of all origins.
	Never string
}

// lagOf returns the lag of a dataset of a shard.
func lagOf(d *weirpb.Dataset) DatasetLag {
	l := DatasetLag{Seconds: tenths(d.GetLagMs())}
	if d.GetNever() {
		l.Never = d.GetLagOrigin()
	}
	return l
}

// String returns the seconds, or the origin of which there is no event.
func (l DatasetLag) String() string {
	if l.Never != "" {
		return "no event of " + l.Never
	}
	return strconv.FormatFloat(l.Seconds, 'f', -1, 64)
}

// MarshalJSON returns the seconds.
func (l DatasetLag) MarshalJSON() ([]byte, error) { return json.Marshal(l.Seconds) }

// DatasetSpendRow is what a dataset has of a campaign on a day.
type DatasetSpendRow struct {
	Dataset string `json:"dataset"`
	Chosen  bool   `json:"chosen"`
	SpendRow
}

// DatasetRows returns a row for each dataset.
func DatasetRows(shards []*weirpb.ShardDatasets) []DatasetRow {
	var rows []DatasetRow
	for n, s := range shards {
		for i, d := range s.GetDatasets() {
			if n == 0 {
				rows = append(rows, DatasetRow{Dataset: d.GetDc()})
			}
			r := &rows[i]
			r.Shards++
			if d.GetChosen() {
				r.Chosen++
			}
			if d.GetHealthy() {
				r.Healthy++
			} else if r.Healthy == r.Shards-1 { // the first one
				r.Reason = d.GetProblem()
			}
			r.AgeSeconds = greater(r.AgeSeconds, seconds(d.GetAgeMs()))
			if l := lagOf(d); r.Lag.Never == "" && (l.Never != "" || l.Seconds > r.Lag.Seconds) {
				r.Lag = l
			}
			r.Lacks = max(r.Lacks, percent(d.GetDeficit()))
			r.Last60s, r.Lost = r.Last60s+d.GetCount_60S(), r.Lost+d.GetLost()
			if d.GetChosen() && r.Reason == "" && r.Chosen == 1 {
				r.Reason = s.GetChoice().GetReason()
			}
		}
	}
	return rows
}

// ShardDatasetRows returns a row for each dataset of each shard.
func ShardDatasetRows(shards []*weirpb.ShardDatasets) (rows []ShardDatasetRow) {
	for _, s := range shards {
		for _, d := range s.GetDatasets() {
			r := ShardDatasetRow{
				Shard: s.GetChoice().GetShard(), Dataset: d.GetDc(), Chosen: d.GetChosen(), Healthy: d.GetHealthy(),
				AgeSeconds: seconds(d.GetAgeMs()), Lag: lagOf(d), LagOrigin: d.GetLagOrigin(),
				Lacks: percent(d.GetDeficit()), Last60s: d.GetCount_60S(), Lost: d.GetLost(), Reason: d.GetProblem(),
				Pacing: s.GetPacingDc(),
			}
			if d.GetChosen() {
				r.Reason = s.GetChoice().GetReason()
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// DatasetSpendRows returns a row for each day that each dataset has of a campaign.
func DatasetSpendRows(shards []*weirpb.ShardDatasets) (rows []DatasetSpendRow) {
	for _, s := range shards {
		for _, d := range s.GetDatasets() {
			for _, r := range d.GetRows() {
				rows = append(rows, DatasetSpendRow{d.GetDc(), d.GetChosen(), spendRowOf(r)})
			}
		}
	}
	return rows
}

// seconds returns milliseconds as seconds; nil if they are not known.
func seconds(ms int64) *float64 {
	if ms < 0 {
		return nil
	}
	s := tenths(ms)
	return &s
}

func greater(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func tenths(ms int64) float64 { return math.Round(float64(ms)/100) / 10 }

func percent(part float64) float64 { return math.Round(part*1000) / 10 }
