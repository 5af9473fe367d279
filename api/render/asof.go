package render

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// asOf is the JSON form of an AsOf.
type asOf struct {
	Partition     int32            `json:"partition"`
	NextOffsets   map[string]int64 `json:"next_offsets"`
	EventMs       int64            `json:"event_ms"`
	AppliedMs     int64            `json:"applied_ms"`
	ChangelogNext int64            `json:"changelog_next"`
	OwnerEpoch    uint64           `json:"owner_epoch"`
	ServedBy      *servedBy        `json:"served_by"`
}

type servedBy struct {
	Instance    string `json:"instance"`
	Role        string `json:"role"`
	StalenessMs int64  `json:"staleness_ms"`
	Stopped     string `json:"stopped"`
}

func asOfOf(at *weirpb.AsOf) *asOf {
	if at == nil {
		return nil
	}
	out := &asOf{
		Partition: at.GetPartition(), NextOffsets: orEmpty(at.GetNextOffsets()), EventMs: at.GetEventMs(), AppliedMs: at.GetAppliedMs(),
		ChangelogNext: at.GetChangelogNext(), OwnerEpoch: at.GetOwnerEpoch(),
	}
	if by := at.GetServedBy(); by != nil {
		out.ServedBy = &servedBy{by.GetInstance(), by.GetRole(), by.GetStalenessMs(), by.GetStopped()}
	}
	return out
}

// AsOfFormat formats how much of the inputs an answer includes, in a table of spend: when the state
// was committed, and how long that is ago.
type AsOfFormat struct {
	Now  time.Time
	Wide bool // also partition, next offsets, ingest time and process
}

// one describes an answer of one partition. A standby and a stopped partition are always named: the
// figures may be incomplete.
func (f AsOfFormat) one(at *weirpb.AsOf) string {
	if f.Wide || at == nil {
		return asOfText(at)
	}
	text := f.committed(at.GetAppliedMs())
	if by := at.GetServedBy(); by.GetRole() == standbyRole || by.GetStopped() != "" {
		text += ", served by " + servedText(by)
	}
	return text
}

// all describes an answer of several partitions. As in one, standbys and stopped partitions are
// named.
func (f AsOfFormat) all(all []*weirpb.AsOf) string {
	if len(all) == 1 {
		return f.one(all[0])
	}
	var first, last int64
	for i, at := range all {
		if i == 0 || at.GetAppliedMs() < first {
			first = at.GetAppliedMs()
		}
		last = max(last, at.GetAppliedMs())
	}
	if f.Wide {
		return fmt.Sprintf("%d partitions, applied %s to %s", len(all), Time(first), Time(last)) + incomplete(all)
	}
	return fmt.Sprintf("%s, the oldest of %d partitions", f.committed(first), len(all)) + incomplete(all)
}

// incomplete names the standbys, and the processes with stopped partitions, that have answered for
// some of the partitions: ", 2 partitions served by standby weir-1, at most 1200 ms old".
func incomplete(all []*weirpb.AsOf) string {
	type server struct {
		instance string
		stopped  bool
	}
	var order []server
	by, count := map[server]*weirpb.ServedBy{}, map[server]int{} // by has the first reason, and the greatest staleness
	for _, at := range all {
		a := at.GetServedBy()
		s := server{a.GetInstance(), a.GetStopped() != ""}
		if a.GetRole() != standbyRole && !s.stopped {
			continue
		}
		if count[s]++; count[s] == 1 {
			order = append(order, s)
			by[s] = &weirpb.ServedBy{Instance: a.GetInstance(), Role: a.GetRole(), Stopped: a.GetStopped()}
		}
		by[s].StalenessMs = max(by[s].StalenessMs, a.GetStalenessMs())
	}
	text := ""
	for _, s := range order {
		noun := "partition"
		if count[s] > 1 {
			noun = "partitions"
		}
		text += fmt.Sprintf(", %d %s served by %s", count[s], noun, servedText(by[s]))
	}
	return text
}

// committed returns the time of a commit, and its age: 2026-11-14 22:13:20 UTC, 3s ago.
func (f AsOfFormat) committed(ms int64) string {
	if ms == 0 {
		return "unknown"
	}
	at := time.UnixMilli(ms).UTC()
	age := max(0, f.Now.Sub(at)) // the clocks of two machines differ
	return at.Format("2006-01-02 15:04:05 UTC") + ", " + ageText(age) + " ago"
}

// ageText formats a time that has passed in its largest unit: 3s, 5m, 7h, 2d.
func ageText(age time.Duration) string {
	switch {
	case age >= 48*time.Hour:
		return fmt.Sprintf("%dd", int64(age.Hours()/24))
	case age >= 2*time.Hour:
		return fmt.Sprintf("%dh", int64(age.Hours()))
	case age >= 2*time.Minute:
		return fmt.Sprintf("%dm", int64(age.Minutes()))
	}
	return fmt.Sprintf("%ds", int64(age.Seconds()))
}

const standbyRole = "standby"

func asOfText(at *weirpb.AsOf) string {
	if at == nil {
		return "unknown"
	}
	text := fmt.Sprintf("partition %d %s", at.GetPartition(), offsetsText(at.GetNextOffsets()))
	if at.GetEventMs() != 0 {
		text += ", events up to " + Time(at.GetEventMs())
	}
	text += ", applied " + Time(at.GetAppliedMs())
	if at.GetServedBy() != nil {
		text += ", served by " + servedText(at.GetServedBy())
	}
	return text
}

// servedText names the process that answered, and the staleness of a standby.
func servedText(by *weirpb.ServedBy) string {
	text := plain(by.GetInstance())
	if by.GetRole() == standbyRole {
		text = fmt.Sprintf("standby %s, at most %d ms old", text, by.GetStalenessMs())
	}
	if by.GetStopped() != "" {
		text += ", stopped: " + plain(by.GetStopped())
	}
	return text
}
