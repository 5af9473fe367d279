package sim

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// describe is a write for people.
func (w *simulation) describe(id rowID, wr *lease.Write) string {
	text := fmt.Sprintf("%s %s", wr.Rule.Name, w.rowName(id))
	if wr.Args.Version > 0 {
		text += fmt.Sprintf(" at version %d", wr.Args.Version)
	}
	return text
}

// writeOutcome is what became of a write.
func writeOutcome(row lease.Row, made bool) string {
	if made {
		return "is made: " + rowText(row)
	}
	return "is refused by " + rowText(row)
}

func rowText(row lease.Row) string {
	parts := []string{fmt.Sprintf("version %d", row.Version)}
	add := func(there bool, format string, args ...any) {
		if there {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(row.Owner != "", "of %s", row.Owner)
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

// Excerpt is the lines of a transcript that have one of the names in them, and the faults, from a time on.
func Excerpt(story string, names ...string) string {
	var out strings.Builder
	for line := range strings.Lines(story) {
		keep := strings.Contains(line, " FAULT ") || strings.Contains(line, "crashes") || strings.Contains(line, "begins again")
		for _, name := range names {
			keep = keep || hasWord(line, name)
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String()
}

// hasWord says whether a line has a name in it that is no part of a longer one.
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
