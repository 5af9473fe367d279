package sim

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// describe returns a write as text.
func (w *simulation) describe(id rowID, wr *lease.Write) string {
	text := fmt.Sprintf("%s %s", wr.Rule.Name, w.rowName(id))
	if wr.Args.Version > 0 {
		text += fmt.Sprintf(" at version %d", wr.Args.Version)
	}
	return text
}

// writeOutcome returns the outcome of a write as text.
func writeOutcome(row lease.Row, made bool) string {
	if made {
		return "succeeds: " + rowText(row)
	}
	return "fails on " + rowText(row)
}

func rowText(row lease.Row) string {
	parts := []string{fmt.Sprintf("version %d", row.Version)}
	add := func(set bool, format string, args ...any) {
		if set {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(row.Owner != "", "owner %s", row.Owner)
	add(row.State != "", "%s", row.State)
	add(row.Resource != "", "%s at %d", row.Resource, row.ResourceVersion)
	add(row.Holder != "", "held by %s", strings.TrimPrefix(row.Holder, pool+"#"))
	add(row.Expires > 0, "until %s", clock(row.Expires-epoch))
	add(row.Available > 0, "available from %s", clock(row.Available-epoch))
	add(row.Winner != "", "winner %s", row.Winner)
	return strings.Join(parts, ", ")
}

func outcomeName(o eventspb.LeaseOutcome) string {
	return strings.ToLower(strings.TrimPrefix(o.String(), "LEASE_OUTCOME_"))
}

// Excerpt returns the lines of a transcript that contain one of names, and all faults and restarts.
func Excerpt(transcript string, names ...string) string {
	var out strings.Builder
	for line := range strings.Lines(transcript) {
		keep := strings.Contains(line, " FAULT ") || strings.Contains(line, "crashes") || strings.Contains(line, "restarts")
		for _, name := range names {
			keep = keep || hasWord(line, name)
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String()
}

// hasWord reports whether a line contains name without a digit after it.
func hasWord(line, name string) bool {
	for at := 0; ; {
		i := strings.Index(line[at:], name)
		if i < 0 {
			return false
		}
		at += i + len(name)
		if at == len(line) || line[at] < '0' || line[at] > '9' {
			return true
		}
	}
}
