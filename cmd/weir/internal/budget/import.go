package budget

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	rpc "connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/pacing/budget"
)

const (
	batchDocuments = 200       // of a request
	batchBytes     = 512 << 10 // half of what a request may have
	maxLine        = 4 << 20
	shownLines     = 20 // refused lines that are printed
)

func newImportCmd(a *cli.App) *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Set the budgets of many accounts from a file",
		Long: "Set the budgets of many accounts from a file.\n\n" +
			"Each line is a document in JSON; docs/pacing.md describes it. Empty lines are skipped. A document\n" +
			"without a version gets the next one, unless it has the content of the newest one. So an import can\n" +
			"be run again, such as each night.\n\n" +
			"All lines are checked first, here and against the versions that the accounts have. If a line is\n" +
			"refused, it is named with its reason, nothing is written, and the exit code is 65. --dry-run does\n" +
			"the same checks, and writes nothing. The input may be compressed by gzip or zstd.",
		Example: "  weir budget import budgets.jsonl --dry-run\n" +
			"  weir budget import budgets.jsonl",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := ingest.Open(cmd.Context(), args[0], a.Stdin)
			if err != nil {
				return err
			}
			defer func() { _ = src.Close() }()
			list, err := readLines(a, src)
			if err != nil {
				return err
			}
			return connect.WithAPI(a, func(client *api.Client) error { return importer{a, client, dry}.importAll(cmd.Context(), list) })
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "check all lines, and write nothing")
	return c
}

// line is a document of a file.
type line struct {
	n    int // of the line, from 1
	m    *structpb.Struct
	size int // of m in a request

	unchanged bool // by the answer to the check
}

// readLines returns the documents of a file. It prints the lines that are refused.
func readLines(a *cli.App, in io.Reader) (list []line, err error) {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	first, bad := map[string]int{}, 0
	refuse := func(n int, why error) {
		if bad++; bad <= shownLines {
			a.Notef("line %d: %v", n, why)
		}
	}
	n := 0
	for s.Scan() {
		n++
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		d, err := budget.Decode(text)
		if err != nil {
			refuse(n, err)
			continue
		}
		if other, twice := first[d.Account]; twice {
			refuse(n, fmt.Errorf("account %q is in line %d too: keep one of them", d.Account, other))
			continue
		}
		first[d.Account] = n
		m, err := structOf(d)
		if err != nil {
			return nil, err
		}
		list = append(list, line{n: n, m: m, size: proto.Size(m)})
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		refuse(n+1, fmt.Errorf("the line has more than %d bytes", maxLine))
	} else if err != nil {
		return nil, err
	}
	if bad > 0 {
		return nil, &cli.Failure{
			Code: cli.ExitData, What: "the import was refused", Why: fmt.Sprintf("%d of %d lines are not valid", bad, n),
			Do: "correct the lines that are named, and import the file again; nothing was written",
		}
	}
	return list, nil
}

// importSummary is the result of an import.
type importSummary struct {
	Documents int  `json:"documents"`
	Set       int  `json:"set"`
	Unchanged int  `json:"unchanged"`
	DryRun    bool `json:"dry_run"` // what was to be set was not
}

// importer imports documents.
type importer struct {
	a      *cli.App
	client *api.Client
	dry    bool
}

// importAll checks all documents, and then writes them.
func (r importer) importAll(ctx context.Context, list []line) error {
	sum, err := r.sendAll(ctx, list, true)
	if code := rpc.CodeOf(err); code == rpc.CodeAborted || code == rpc.CodeInvalidArgument {
		return r.nameLines(ctx, list)
	}
	if err != nil {
		return cli.Fail(0, "the budgets cannot be checked", err, "run the command again; nothing was written")
	}
	if sum.DryRun = r.dry; r.dry {
		r.a.Notef("dry run: nothing was written")
		return cli.PrintOne(r.a, sum)
	}
	changed := slices.DeleteFunc(list, func(x line) bool { return x.unchanged })
	unchanged := sum.Unchanged
	if sum, err = r.sendAll(ctx, changed, false); err != nil {
		return cli.Fail(0, fmt.Sprintf("the import ended after %d of %d documents", sum.Documents, len(changed)), err,
			"run the same command again: documents that are set do not change")
	}
	sum.Documents, sum.Unchanged = sum.Documents+unchanged, sum.Unchanged+unchanged
	return cli.PrintOne(r.a, sum)
}

// nameLines checks documents one by one, and prints the lines that the server refuses.
func (r importer) nameLines(ctx context.Context, list []line) error {
	bad := 0
	for i := range list {
		_, err := r.sendAll(ctx, list[i:i+1], true)
		var refused *rpc.Error
		if err == nil || !errors.As(err, &refused) {
			continue
		}
		if code := refused.Code(); code != rpc.CodeAborted && code != rpc.CodeInvalidArgument {
			return cli.Fail(0, "the budgets cannot be checked", err, "run the command again; nothing was written")
		}
		if bad++; bad <= shownLines {
			r.a.Notef("line %d: %s", list[i].n, refused.Message())
		}
	}
	return &cli.Failure{
		Code: cli.ExitData, What: "the import was refused", Why: fmt.Sprintf("the server refuses %d of %d documents", bad, len(list)),
		Do: "correct the lines that are named, and import the file again; nothing was written",
	}
}

// sendAll sends the documents in batches. Its error names the lines of the batch that failed.
func (r importer) sendAll(ctx context.Context, list []line, check bool) (sum importSummary, err error) {
	for len(list) > 0 {
		req := &weirpb.SetBudgetsRequest{CheckOnly: check}
		n, size := 0, 0
		for n < len(list) && n < batchDocuments && (n == 0 || size+list[n].size <= batchBytes) {
			req.Documents = append(req.Documents, list[n].m)
			size += list[n].size
			n++
		}
		res, err := r.client.SetBudgets(ctx, req)
		if err != nil {
			return sum, fmt.Errorf("lines %d to %d: %w", list[0].n, list[n-1].n, err)
		}
		for i, x := range res.GetResults()[:min(n, len(res.GetResults()))] {
			list[i].unchanged = x.GetUnchanged()
			if sum.Documents++; x.GetUnchanged() {
				sum.Unchanged++
			} else {
				sum.Set++
			}
		}
		list = list[n:]
	}
	return sum, nil
}
