package render

import (
	"fmt"

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
	if by.GetRole() == "standby" {
		text = fmt.Sprintf("standby %s, at most %d ms old", text, by.GetStalenessMs())
	}
	if by.GetStopped() != "" {
		text += ", stopped: " + plain(by.GetStopped())
	}
	return text
}
