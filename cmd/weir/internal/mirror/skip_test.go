package mirror

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

// TestPlan: a skip is planned only for a stopped copy, and to an offset that skips no record that
// can be copied. Where the next such offset is not known, it is within the log.
func TestPlan(t *testing.T) {
	status := func(resume *weirpb.CopyResume) *weirpb.CopyStatus {
		return &weirpb.CopyStatus{Dc: "us", Topic: "ads.events", Next: 5, End: 20, Problem: "cause", Stopped: resume != nil, Resume: resume}
	}
	for name, tc := range map[string]struct {
		resume *weirpb.CopyResume
		to     int64
		lost   int64
		refuse string
	}{
		"a copy that works":            {to: 6, refuse: "the copy is not stopped: it is at offset 5"},
		"behind what was deleted":      {resume: &weirpb.CopyResume{Next: 8}, to: 8, lost: 3},
		"too far":                      {resume: &weirpb.CopyResume{Next: 8}, to: 9, refuse: "offset 8 is the next that may be copied"},
		"a topic that was made again":  {resume: &weirpb.CopyResume{Recreated: true}, to: 0, lost: -1},
		"where a log differs":          {resume: &weirpb.CopyResume{Next: 3, Recreated: true}, to: 3, lost: -1},
		"behind an unknown damage":     {resume: &weirpb.CopyResume{}, to: 7, lost: 2},
		"to where it is":               {resume: &weirpb.CopyResume{}, to: 5, refuse: "the copy has stopped at offset 5"},
		"to the end":                   {resume: &weirpb.CopyResume{}, to: 20, lost: 15},
		"beyond the end, as by a typo": {resume: &weirpb.CopyResume{}, to: 70, refuse: "the log of us ends at offset 20"},
	} {
		s := &skip{dc: "us", topic: "ads.events", SkipFlags: connect.SkipFlags{To: tc.to}}
		p, err := s.planOf(status(tc.resume))
		switch {
		case tc.refuse != "":
			if err == nil || !strings.Contains(err.Error(), tc.refuse) {
				t.Errorf("%s: error %v", name, err)
			}
		case err != nil || p.Lost != tc.lost || p.From != 5 || p.To != tc.to || p.Cause != "cause":
			t.Errorf("%s: %+v, error %v", name, p, err)
		}
	}
}
