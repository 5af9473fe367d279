package processors

import (
	"testing"
	"time"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/group"
)

// TestStandbyWarm: a standby asks for its partition when the group is likely to take its store for
// warm: it lacks few records, or those of some seconds. Near to the end of the changelog it asks
// after half a minute in any case, because the clock of the owner may be another one.
func TestStandbyWarm(t *testing.T) {
	for name, c := range map[string]struct {
		lag  int64
		age  time.Duration // by the clock of this process
		near time.Duration // how long it has been near
		warm bool
	}{
		"few records":         {group.FewRecords / 2, time.Hour, 0, true},
		"of a second":         {group.AcceptableLag / 2, time.Second, 0, true},
		"of a minute":         {group.FewRecords, time.Minute, 0, false},
		"too many":            {group.AcceptableLag/2 + 1, time.Second, time.Hour, false},
		"a clock that is off": {group.FewRecords, -time.Minute, 0, false},
		"near for long":       {group.FewRecords, -time.Minute, nearWait, true},
	} {
		written := time.Now().Add(-c.age).UnixMilli()
		r := &changelog.Applier{Meta: &changelogpb.TaskMeta{ChangelogNext: 7, Marker: &changelogpb.Marker{WrittenAtMs: written}}}
		f := &standby{ends: map[int32]int64{3: 7 + c.lag}, near: map[int32]time.Time{}}
		if c.near > 0 {
			f.near[3] = time.Now().Add(-c.near)
		}
		if got := f.warm(3, r); got != c.warm {
			t.Errorf("%s: warm: %t", name, got)
		}
		if _, near := f.near[3]; near != (c.lag <= group.AcceptableLag/2) {
			t.Errorf("%s: near: %t", name, near)
		}
	}
}
