package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// maxRejectedLines is the number of rejected lines that the table keeps of an import.
const maxRejectedLines = 1000

// progress is what the table keeps of an import, so that it can resume.
type progress struct {
	lines    int64  // lines that have been imported, from the first
	rejected string // of these, the numbers of lines that the next run tries again
}

// rejectedLines returns the numbers, from 1, of the lines that are tried again.
func (p progress) rejectedLines() map[int64]bool {
	lines := map[int64]bool{}
	for text := range strings.SplitSeq(p.rejected, ",") {
		if line, err := strconv.ParseInt(text, 10, 64); err == nil {
			lines[line] = true
		}
	}
	return lines
}

// present returns the progress. Rejected lines beyond maxRejectedLines, and all lines after them,
// are not part of it.
func (im *importer) present() progress {
	im.mu.Lock()
	defer im.mu.Unlock()
	p := progress{lines: im.upTo}
	var rejected []int64
	for line := range im.rejected {
		if line <= im.upTo {
			rejected = append(rejected, line)
		}
	}
	slices.Sort(rejected)
	if len(rejected) > maxRejectedLines {
		p.lines = rejected[maxRejectedLines] - 1
		rejected = rejected[:maxRejectedLines]
	}
	var text []byte
	for i, line := range rejected {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, line, 10)
	}
	p.rejected = string(text)
	return p
}

// saveProgress stores the progress. If two processes import one file, both store correct progress.
func (im *importer) saveProgress(ctx context.Context) error {
	p := im.present()
	if im.from.ID == "" || p == im.earlier {
		return nil
	}
	item := table.PrimaryKey(lease.ImportRow(im.from.Client, im.from.ID))
	item[table.ImportLines], item[table.UpdatedMs] = table.N(p.lines), table.N(time.Now().UnixMilli())
	if p.rejected != "" {
		item[table.ImportRejected] = table.S(p.rejected)
	}
	_, _, err := im.a.table.Put(ctx, im.a.home(), item, table.AnyVersion())
	return err
}

// imported returns the progress of earlier runs.
func (a *Admin) imported(ctx context.Context, client, id string) (progress, error) {
	if id == "" {
		return progress{}, nil
	}
	item, err := a.table.Get(ctx, a.home(), lease.ImportRow(client, id))
	if err != nil || item == nil {
		return progress{}, err
	}
	n, err := table.Number(item, table.ImportLines)
	if err != nil {
		return progress{}, fmt.Errorf("%w: %w", table.ErrTable, err)
	}
	return progress{n, table.Text(item, table.ImportRejected)}, nil
}
