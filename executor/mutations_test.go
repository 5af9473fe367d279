package executor

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

const (
	done    = eventspb.LeaseOutcome_LEASE_OUTCOME_DONE
	stale   = eventspb.LeaseOutcome_LEASE_OUTCOME_STALE
	early   = eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY
	late    = eventspb.LeaseOutcome_LEASE_OUTCOME_LATE
	missing = eventspb.LeaseOutcome_LEASE_OUTCOME_MISSING
	invalid = eventspb.LeaseOutcome_LEASE_OUTCOME_INVALID
)

// TestModelNotices: the model of the executor accepts the right outcome and row of each command,
// and reports each fault of them.
func TestModelNotices(t *testing.T) {
	now := time.Now().UnixMilli()
	command := func(c *eventspb.LeaseCommand) *eventspb.LeaseCommand {
		c.Id, c.Client, c.Pool, c.Region = "1", "c", "p", "eu"
		return c
	}
	liberate := func(version int64) *eventspb.LeaseCommand {
		return command(&eventspb.LeaseCommand{Command: &eventspb.LeaseCommand_Liberate{Liberate: &eventspb.LeaseLiberate{Resource: "r", Version: version, ExpiresMs: now - 50_000, AvailableMs: now - 49_000}}})
	}
	transfer := command(&eventspb.LeaseCommand{Command: &eventspb.LeaseCommand_Transfer{Transfer: &eventspb.LeaseTransfer{Resource: "r", Version: 2, To: "us"}}})
	revoke := command(&eventspb.LeaseCommand{Command: &eventspb.LeaseCommand_Revoke{Revoke: &eventspb.LeaseRevoke{Resource: "r", Version: 2, AvailableMs: now + 5_000}}})
	supersede := command(&eventspb.LeaseCommand{Command: &eventspb.LeaseCommand_Supersede{Supersede: &eventspb.LeaseSupersede{Key: "k", Version: 2, Resource: "r1", Winner: "us"}}})
	headroom := func(asOf int64) *eventspb.LeaseCommand {
		return command(&eventspb.LeaseCommand{Command: &eventspb.LeaseCommand_Headroom{Headroom: &eventspb.LeaseHeadroom{AsOfMs: asOf}}})
	}
	tooLate := liberate(2)
	tooLate.NotAfterMs = now - 1
	foreign := liberate(2)
	foreign.Region = "us"

	ended := lease.Row{Version: 2, Owner: "eu", Holder: lease.Holder("p", "k"), Expires: now - 50_000}
	leased := ended
	leased.Expires = now + 50_000
	free := lease.Row{Version: 2, Owner: "eu", Available: now - 50_000}
	key := lease.Row{Version: 2, State: lease.Leased, Resource: "r1", ResourceVersion: 3, Expires: now + 50_000}

	freed := lease.Row{Version: 3, Owner: "eu", Available: now - 49_000}
	moved := lease.Row{Version: 3, Owner: "us", Available: now + 3_000}
	revoked := lease.Row{Version: 3, Owner: "eu", Available: now + 5_000}
	superseded := key
	superseded.Version, superseded.State, superseded.Winner = 3, lease.Superseded, "us"
	change := func(r lease.Row, f func(*lease.Row)) lease.Row { f(&r); return r }
	own, others := lease.Bucket("c", "p", "eu", 1), lease.Bucket("c", "p", "us", 1)

	for name, x := range map[string]struct {
		c       *eventspb.LeaseCommand
		before  lease.Row
		outcome eventspb.LeaseOutcome
		after   lease.Row
		bucket  string
		want    string // empty: correct
	}{
		"liberated":                           {liberate(2), ended, done, freed, own, ""},
		"a liberation is not written":         {liberate(2), ended, done, ended, own, "the row is"},
		"a liberation is written twice":       {liberate(2), ended, done, change(freed, func(r *lease.Row) { r.Version++ }), own, "the row is"},
		"without a new version":               {liberate(2), ended, done, change(freed, func(r *lease.Row) { r.Version-- }), own, "the row is"},
		"its holder remains":                  {liberate(2), ended, done, change(freed, func(r *lease.Row) { r.Holder = "h" }), own, "the row is"},
		"its end remains":                     {liberate(2), ended, done, change(freed, func(r *lease.Row) { r.Expires = 1 }), own, "the row is"},
		"it is available too early":           {liberate(2), ended, done, change(freed, func(r *lease.Row) { r.Available-- }), own, "the row is"},
		"it has another owner":                {liberate(2), ended, done, change(freed, func(r *lease.Row) { r.Owner = "us" }), others, "the row is"},
		"it is in another region's bucket":    {liberate(2), ended, done, freed, others, "is in the bucket"},
		"it is in no bucket":                  {liberate(2), ended, done, freed, "", "is in the bucket"},
		"it is written, and reported as not":  {liberate(2), ended, stale, freed, own, "the outcome is"},
		"it is neither written nor reported":  {liberate(2), ended, stale, ended, own, "the outcome is"},
		"repeated":                            {liberate(2), freed, done, freed, own, ""},
		"repeated, and written again":         {liberate(2), freed, done, change(freed, func(r *lease.Row) { r.Version++ }), own, "the row is"},
		"repeated, and reported as stale":     {liberate(2), freed, stale, freed, own, "the outcome is"},
		"early":                               {liberate(2), leased, early, leased, "", ""},
		"a lease is ended early":              {liberate(2), leased, done, freed, own, "the outcome is"},
		"a lease is ended, reported as early": {liberate(2), leased, early, freed, own, "the row is"},
		"another version":                     {liberate(1), ended, stale, ended, "", ""},
		"another version is liberated":        {liberate(1), ended, done, freed, own, "the outcome is"},
		"no lease":                            {liberate(2), free, stale, free, own, ""},
		"a free resource is liberated":        {liberate(2), free, done, freed, own, "the outcome is"},
		"another region's":                    {liberate(2), change(ended, func(r *lease.Row) { r.Owner = "us" }), stale, change(ended, func(r *lease.Row) { r.Owner = "us" }), "", ""},
		"another region's is liberated":       {liberate(2), change(ended, func(r *lease.Row) { r.Owner = "us" }), done, freed, own, "the outcome is"},
		"late":                                {tooLate, ended, late, ended, "", ""},
		"a late command is carried out":       {tooLate, ended, done, freed, own, "the outcome is"},
		"of another region":                   {foreign, ended, invalid, ended, "", ""},
		"another region's is carried out":     {foreign, ended, done, freed, own, "the outcome is"},
		"no row":                              {liberate(2), lease.Row{}, missing, lease.Row{}, "", ""},
		"a row is made":                       {liberate(2), lease.Row{}, missing, freed, own, "the row is"},
		"transferred":                         {transfer, free, done, moved, others, ""},
		"it arrives too early":                {transfer, free, done, change(moved, func(r *lease.Row) { r.Available = now + 1_000 }), others, "the minimum is"},
		"it arrives in another region":        {transfer, free, done, change(moved, func(r *lease.Row) { r.Owner = "ap" }), others, "the row is"},
		"it stays in its bucket":              {transfer, free, done, moved, own, "is in the bucket"},
		"it moves twice":                      {transfer, free, done, change(moved, func(r *lease.Row) { r.Version++ }), others, "the row is"},
		"a leased resource moves":             {transfer, leased, done, moved, others, "the outcome is"},
		"revoked":                             {revoke, leased, done, revoked, own, ""},
		"revoked, and available at once":      {revoke, leased, done, change(revoked, func(r *lease.Row) { r.Available = now }), own, "the row is"},
		"revoked, and its holder remains":     {revoke, leased, done, change(revoked, func(r *lease.Row) { r.Holder = leased.Holder }), own, "the row is"},
		"superseded":                          {supersede, key, done, superseded, "", ""},
		"superseded by another":               {supersede, key, done, change(superseded, func(r *lease.Row) { r.Winner = "ap" }), "", "the row is"},
		"superseded, and leased":              {supersede, key, done, change(superseded, func(r *lease.Row) { r.State = lease.Leased }), "", "the row is"},
		"superseded, with another resource":   {supersede, key, done, change(superseded, func(r *lease.Row) { r.Resource = "r2" }), "", "the row is"},
		"a newer headroom":                    {headroom(8), lease.Row{}, done, lease.Row{}, "", ""},
		"a newer headroom is left out":        {headroom(8), lease.Row{}, stale, lease.Row{}, "", "the outcome is"},
		"an older headroom":                   {headroom(6), lease.Row{}, stale, lease.Row{}, "", ""},
		"an older headroom is written":        {headroom(6), lease.Row{}, done, lease.Row{}, "", "the outcome is"},
	} {
		got := model(x.c, x.before, 7).differs(x.outcome, x.after, x.bucket, now)
		if (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: the model reports %q, want %q", name, got, x.want)
		}
	}
}

// TestMisdeedsNotices: each fault of a history of agents and an executor is reported, and nothing
// of a correct one.
func TestMisdeedsNotices(t *testing.T) {
	type rows = map[int64]lease.Row
	for name, c := range map[string]struct {
		plant func(history map[string]rows, result *eventspb.LeaseResult)
		want  string // empty: correct
	}{
		"correct":                    {func(map[string]rows, *eventspb.LeaseResult) {}, ""},
		"stale, and done by another": {func(_ map[string]rows, r *eventspb.LeaseResult) { r.Outcome = stale }, ""},
		"a result is lost":           {func(_ map[string]rows, r *eventspb.LeaseResult) { r.Id = "2" }, "has no result"},
		"a result of no command":     {func(_ map[string]rows, r *eventspb.LeaseResult) { r.Id = "3" }, "a result of no command"},
		"done, and not written":      {func(h map[string]rows, _ *eventspb.LeaseResult) { delete(h["r"], 3); delete(h["r"], 4) }, "made {Version:0"},
		"done, and a holder remains": {func(h map[string]rows, _ *eventspb.LeaseResult) { set(h, 3, func(r *lease.Row) { r.Holder = "a" }) }, "made {Version:3"},
		"done, and an end remains":   {func(h map[string]rows, _ *eventspb.LeaseResult) { set(h, 3, func(r *lease.Row) { r.Expires = 9 }) }, "made {Version:3"},
		"done, with another time":    {func(h map[string]rows, _ *eventspb.LeaseResult) { set(h, 3, func(r *lease.Row) { r.Available++ }) }, "made {Version:3"},
		"done, with another owner":   {func(h map[string]rows, _ *eventspb.LeaseResult) { set(h, 3, func(r *lease.Row) { r.Owner = "us" }) }, "made {Version:3"},
		"of another lease":           {func(h map[string]rows, _ *eventspb.LeaseResult) { set(h, 2, func(r *lease.Row) { r.Expires++ }) }, "names the row"},
		"available too early": {func(h map[string]rows, r *eventspb.LeaseResult) {
			r.Outcome = stale
			set(h, 3, func(r *lease.Row) { r.Available-- })
		}, "r is available at 2999"},
		"from one key to another": {func(h map[string]rows, _ *eventspb.LeaseResult) {
			h["r"][5] = lease.Row{Version: 5, Owner: "eu", Holder: "c", Expires: 8_000}
		}, "r went from b to c"},
		"a version is skipped":     {func(h map[string]rows, _ *eventspb.LeaseResult) { h["r"][6] = h["r"][4]; delete(h["r"], 4) }, "r has no version 4"},
		"the first is missing":     {func(h map[string]rows, _ *eventspb.LeaseResult) { delete(h["r"], 1) }, "r has no version 1"},
		"a version is overwritten": {func(h map[string]rows, _ *eventspb.LeaseResult) { h["r"][4] = h["r"][3] }, "r has no version 4"},
	} {
		history := map[string]rows{"r": {
			1: {Version: 1, Owner: "eu", Available: 1},
			2: {Version: 2, Owner: "eu", Holder: "a", Expires: 2_000},
			3: {Version: 3, Owner: "eu", Available: 3_000},
			4: {Version: 4, Owner: "eu", Holder: "b", Expires: 6_000},
		}}
		liberate := func(id string) *eventspb.LeaseCommand {
			return &eventspb.LeaseCommand{Id: id, Command: &eventspb.LeaseCommand_Liberate{Liberate: &eventspb.LeaseLiberate{Resource: "r", Version: 2, ExpiresMs: 2_000}}}
		}
		sent := map[string]*eventspb.LeaseCommand{"1": liberate("1"), "2": liberate("2")}
		results := []*eventspb.LeaseResult{{Id: "1", Outcome: done}, {Id: "2", Outcome: stale}}
		c.plant(history, results[0])
		got := strings.Join(misdeeds(history, sent, results), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: it reports %q, want %q", name, got, c.want)
		}
	}
}

// set changes a version of resource r.
func set(history map[string]map[int64]lease.Row, version int64, change func(*lease.Row)) {
	row := history["r"][version]
	change(&row)
	history["r"][version] = row
}

// TestLossesNotices: a command that kills have lost or doubled is reported.
func TestLossesNotices(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(results map[string][]*eventspb.LeaseResult, rows map[string]lease.Row)
		want  string // empty: correct
	}{
		"correct": {func(map[string][]*eventspb.LeaseResult, map[string]lease.Row) {}, ""},
		"a result is repeated": {func(r map[string][]*eventspb.LeaseResult, _ map[string]lease.Row) {
			r["1"] = append(r["1"], &eventspb.LeaseResult{Id: "1", Outcome: stale})
		}, ""},
		"a result is lost":       {func(r map[string][]*eventspb.LeaseResult, _ map[string]lease.Row) { delete(r, "1") }, "command 1 has no result"},
		"a first result differs": {func(r map[string][]*eventspb.LeaseResult, _ map[string]lease.Row) { r["1"][0].Outcome = stale }, "command 1: "},
		"a result of no command": {func(r map[string][]*eventspb.LeaseResult, _ map[string]lease.Row) { r["7"] = r["1"] }, "a result of no command: 7"},
		"a write is lost": {func(_ map[string][]*eventspb.LeaseResult, rows map[string]lease.Row) {
			rows["r"] = lease.Row{Version: 2, Available: 10}
		}, "resource r is"},
		"a write is repeated": {func(_ map[string][]*eventspb.LeaseResult, rows map[string]lease.Row) {
			rows["r"] = lease.Row{Version: 4, Available: 20}
		}, "resource r is"},
		"of an older command": {func(_ map[string][]*eventspb.LeaseResult, rows map[string]lease.Row) {
			rows["r"] = lease.Row{Version: 3, Available: 10}
		}, "resource r is"},
		"a row is lost": {func(_ map[string][]*eventspb.LeaseResult, rows map[string]lease.Row) { delete(rows, "r") }, "resource r is"},
	} {
		revoke := func(version, available int64) *eventspb.LeaseCommand {
			return &eventspb.LeaseCommand{Command: &eventspb.LeaseCommand_Revoke{Revoke: &eventspb.LeaseRevoke{Resource: "r", Version: version, AvailableMs: available}}}
		}
		sent := map[string]*eventspb.LeaseCommand{"1": revoke(1, 10), "2": revoke(2, 20)}
		results := map[string][]*eventspb.LeaseResult{"1": {{Id: "1", Outcome: done}}, "2": {{Id: "2", Outcome: done}}}
		rows := map[string]lease.Row{"r": {Version: 3, Available: 20}}
		c.plant(results, rows)
		got := strings.Join(losses(sent, results, rows), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: it reports %q, want %q", name, got, c.want)
		}
	}
}
