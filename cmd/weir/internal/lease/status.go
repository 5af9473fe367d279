package lease

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/status"
)

// statusView is what `weir status` prints.
type statusView struct {
	Pools      []poolRow      `json:"pools"`
	Commands   []commandRow   `json:"commands"`
	Duplicates []duplicateRow `json:"duplicates"`
	Notes      []noteRow      `json:"notes"`
}

// poolRow is the state of a pool in a region.
type poolRow struct {
	Client   string    `json:"client"`
	Pool     string    `json:"pool"`
	Region   string    `json:"region"`
	State    string    `json:"state"`
	Free     int64     `json:"free"`
	Leased   int64     `json:"leased"`
	Soon     int64     `json:"soon"`
	Coming   int64     `json:"coming"`
	Leaving  int64     `json:"leaving"`
	Need     int64     `json:"need"`
	Refused  int64     `json:"refused"` // in the last minute
	Floor    int64     `json:"floor" table:"wide"`
	PerMin   float64   `json:"per_minute"` // forecast of requests for new leases
	Forecast string    `json:"forecast" table:"wide"`
	LagMs    int64     `json:"lag_ms" table:"wide"` // replication lag of the region; -1: not known
	AsOf     time.Time `json:"as_of" table:"wide"`
}

// commandRow is the queue of a region's executor.
type commandRow struct {
	Region  string  `json:"region"`
	Waiting int64   `json:"waiting"`
	Oldest  float64 `json:"oldest_seconds"`
}

// noteRow is a decision of the lease loop.
type noteRow struct {
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Client string    `json:"client" table:"wide"`
	Pool   string    `json:"pool"`
	Text   string    `json:"text"`
}

// duplicateRow is a key that was leased in several regions.
type duplicateRow struct {
	Client   string    `json:"client" table:"wide"`
	Pool     string    `json:"pool"`
	Key      string    `json:"key"`
	State    string    `json:"state"`
	Winner   string    `json:"winner"`
	Leases   []string  `json:"leases"` // region: resource
	Since    time.Time `json:"since"`
	Resolved float64   `json:"resolved_after_seconds"` // -1: not yet
}

// statusQuery holds the flags of commands that read the topics of the lease loop.
type statusQuery struct {
	client, pool string
	since        time.Duration
}

func (q *statusQuery) flags(c *cobra.Command) {
	c.Flags().StringVar(&q.client, "client", "", "only pools of this client")
	c.Flags().StringVar(&q.pool, "pool", "", "only this pool")
}

// newStatusCmd returns `weir status`.
func newStatusCmd(a *cli.App) *cobra.Command {
	q := &statusQuery{}
	c := &cobra.Command{
		Use:   "status",
		Short: "Show pools, waiting commands, duplicates and decisions of the lease loop",
		Long: "Show the state of the lease loop: each pool in each region, commands that wait for executors,\n" +
			"keys that were leased in two regions, and the latest decisions with their reasons. It reads the\n" +
			"topics of the lease loop, so it needs no running process.",
		Example: "  weir status --since 1h --pool numbers",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := readStatus(a, cmd, q)
			if err != nil {
				return err
			}
			s := statusOf(v)
			if a.Structured() {
				return cli.PrintOne(a, s)
			}
			return a.Print(func(w io.Writer) error { return s.write(w, a.Format == cli.FormatWide, q.since) })
		},
	}
	q.flags(c)
	connect.LeaseFlags(a, c.Flags())
	c.Flags().DurationVar(&q.since, "since", 10*time.Minute, "maximum age of the decisions")
	return c
}

// readStatus reads the topics of the lease loop.
func readStatus(a *cli.App, cmd *cobra.Command, q *statusQuery) (*status.Status, error) {
	cfg, k, err := connect.LeaseCluster(cmd.Context(), a)
	if err != nil {
		return nil, err
	}
	regions, _ := cfg.Leases.RegionEndpoints()
	v, err := status.Read(cmd.Context(), k, status.Query{
		Client: q.client, Pool: q.pool, Since: time.Now().Add(-q.since), Regions: regions,
	})
	if err != nil {
		return nil, cli.Fail(cli.ExitUnavailable, "cannot read the topics of the lease loop", err, leaseTopicsRemedy)
	}
	return v, nil
}

func statusOf(v *status.Status) *statusView {
	s := &statusView{Pools: []poolRow{}, Commands: []commandRow{}, Duplicates: []duplicateRow{}, Notes: []noteRow{}}
	for _, h := range v.Headroom {
		s.Pools = append(s.Pools, poolRow{
			h.Client, h.Pool, h.Region, h.State, h.Free, h.Leased, h.Returning, h.InTransit, h.Outbound, h.Need, h.Refused, h.Floor,
			float64(int64(h.Rate*6000)) / 100, h.Forecast, h.LagMs, time.UnixMilli(h.AsOfMs).UTC(),
		})
	}
	for _, w := range v.Waiting {
		s.Commands = append(s.Commands, commandRow{w.Region, w.Commands, w.Oldest.Round(time.Millisecond).Seconds()})
	}
	for _, d := range v.Duplicates {
		s.Duplicates = append(s.Duplicates, duplicateOf(d))
	}
	for _, n := range v.Notes {
		s.Notes = append(s.Notes, noteRow{time.UnixMilli(n.AtMs).UTC(), n.Kind, n.Client, n.Pool, n.Text})
	}
	return s
}

func duplicateOf(d *eventspb.LeaseDuplicate) duplicateRow {
	row := duplicateRow{d.Client, d.Pool, d.Key, d.State, d.Winner, []string{}, time.UnixMilli(d.SinceMs).UTC(), -1}
	for _, k := range d.Rows {
		row.Leases = append(row.Leases, k.Region+": "+k.Resource)
	}
	if d.ResolvedMs > 0 {
		row.Resolved = float64(d.ResolvedMs-d.SinceMs) / 1000
	}
	return row
}

// longWait is the age in seconds from which on waiting commands are printed. Executors report about
// every second what they have done.
const longWait = 5

// Texts of several commands.
const (
	noPools           = "no pools found: check --client and --pool; the balancer publishes the figures of a new pool within seconds"
	leaseTopicsRemedy = "check --brokers; `weir topics plan --for leases` shows what is missing"
)

// write prints s as text.
func (s *statusView) write(w io.Writer, wide bool, since time.Duration) error {
	if len(s.Pools) == 0 {
		fmt.Fprintln(w, noPools)
	} else if err := cli.WriteTable(w, s.Pools, wide); err != nil {
		return err
	}
	for _, c := range s.Commands {
		if c.Waiting > 0 && c.Oldest >= longWait {
			fmt.Fprintf(w, "\n%d commands wait for %s, the oldest for %.0f s", c.Waiting, c.Region, c.Oldest)
		}
	}
	open, seen := 0, len(s.Duplicates)
	for _, d := range s.Duplicates {
		if d.State != "resolved" {
			open++
		}
	}
	fmt.Fprintf(w, "\nduplicates: %d open, %d resolved in the last hour (weir dedup list)\n", open, seen-open)
	if len(s.Notes) == 0 {
		fmt.Fprintf(w, "no decisions in the last %s\n", since)
		return nil
	}
	fmt.Fprintln(w)
	for _, n := range s.Notes {
		fmt.Fprintf(w, "%s  %-9s  %s\n", n.Time.Local().Format(time.TimeOnly), n.Kind, n.Text)
	}
	return nil
}

// newDedupCmd returns `weir dedup`.
func newDedupCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "dedup", Short: "List keys that were leased in several regions at the same time"}
	q := &statusQuery{since: time.Hour}
	var open bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the duplicates of the last hour, and the lease that won",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := readStatus(a, cmd, q)
			if err != nil {
				return err
			}
			rows := []duplicateRow{}
			for _, d := range v.Duplicates {
				if row := duplicateOf(d); !open || row.State != "resolved" {
					rows = append(rows, row)
				}
			}
			return cli.PrintRows(a, rows)
		},
	}
	q.flags(list)
	list.Flags().BoolVar(&open, "open", false, "only duplicates that are not resolved")
	c.AddCommand(list)
	return c
}
