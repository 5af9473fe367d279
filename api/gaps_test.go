package api

import (
	"fmt"
	"strings"
	"testing"
)

// Partitions with one reason are one text. Numbers do not make another reason of a stopped
// partition; in other states only the partition's own number does not.
func TestDescribeGaps(t *testing.T) {
	var many []PartitionGap
	for p := range int32(24) {
		many = append(many, PartitionGap{p, "stopped", fmt.Sprintf("in[%d] cannot be read at offset %d", p, 100+p)})
	}
	for name, tc := range map[string]struct {
		gaps []PartitionGap
		want []string
	}{
		"none": {nil, []string{}},
		"one":  {many[5:6], []string{"partition 5 is stopped (in[5] cannot be read at offset 105)"}},
		"many": {many, []string{"partitions 0-23 are stopped (partition 0: in[0] cannot be read at offset 100)"}},
		"gaps": {[]PartitionGap{{0, "x", ""}, {1, "x", ""}, {3, "x", ""}, {4, "x", ""}, {5, "x", ""}}, []string{"partitions 0, 1, 3-5 are x"}},
		"same": {[]PartitionGap{{1, "stopped", "full"}, {2, "stopped", "full"}, {3, "stopped", "deleted"}}, []string{"partitions 1, 2 are stopped (full)", "partition 3 is stopped (deleted)"}},
		"processes": {
			[]PartitionGap{{1, "elsewhere", "weir-1 does not answer"}, {2, "elsewhere", "weir-2 does not answer"}},
			[]string{"the process that answered does not own partition 1 (weir-1 does not answer)", "the process that answered does not own partition 2 (weir-2 does not answer)"},
		},
		"forwarded": {
			[]PartitionGap{{1, "elsewhere", "b: partition 1 is stopped (x)"}, {2, "elsewhere", "b: partition 2 is stopped (x)"}},
			[]string{"the process that answered does not own partitions 1, 2 (partition 1: b: partition 1 is stopped (x))"},
		},
	} {
		if got := DescribeGaps(tc.gaps); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tc.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, tc.want)
		}
	}
	// The error names the reason once, and does not advise to try again.
	err := sourceError(&PartitionsError{Gaps: many}, "spend of campaign c1")
	if text := err.Error(); strings.Count(text, "cannot be read at offset") != 1 || strings.Contains(text, "try again") || !strings.Contains(text, "operator") {
		t.Error(text)
	}
}
