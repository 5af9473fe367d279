package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/weirhq/weir/api/weirpb"
)

// plain makes text from data safe for a terminal: characters that are not printable become escapes.
func plain(s string) string {
	clean := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if strings.IndexFunc(s, clean) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

// Text makes text from data safe to show: characters that are not printable become escapes.
func Text(s string) string { return plain(s) }

// Time formats Unix milliseconds as RFC 3339 in UTC with milliseconds. 0 is "unknown".
func Time(ms int64) string {
	if ms == 0 {
		return "unknown"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// offsetsText formats next offsets as topic@offset, ordered by topic.
func offsetsText(next map[string]int64) string {
	parts := make([]string, 0, len(next))
	for _, topic := range slices.Sorted(maps.Keys(next)) {
		parts = append(parts, fmt.Sprintf("%s@%d", plain(topic), next[topic]))
	}
	return strings.Join(parts, " ")
}

// Lag formats a partition's lag in records: "unknown" if the end of the inputs is not known.
func Lag(p *weirpb.Partition) string {
	if p.Lag == nil {
		return "unknown"
	}
	return strconv.FormatInt(p.GetLag(), 10)
}

func marshal(what string, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s as JSON: %w", what, err)
	}
	return b, nil
}
