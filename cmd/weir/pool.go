package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/agent/admin"
)

// newPoolCmd returns `weir pool`.
func newPoolCmd(a *app) *cobra.Command {
	return newSettingsCmd(&settingsOf[admin.Pool]{
		a: a, noun: "pool",
		name: func(p *admin.Pool) *string { return &p.Pool },
		parents: func(f *pflag.FlagSet, p *admin.Pool) {
			f.StringVar(&p.Client, "client", p.Client, "client that it is of")
			must(cobra.MarkFlagRequired(f, "client"))
		},
		fields: func(f *pflag.FlagSet, p *admin.Pool) {
			f.DurationVar((*time.Duration)(&p.LongestLease), "longest-lease", time.Duration(p.LongestLease), "longer leases are made that short (default 1h)")
			f.DurationVar((*time.Duration)(&p.Quarantine), "quarantine", time.Duration(p.Quarantine), "how long after its lease a resource rests (default 10s)")
			f.IntVar(&p.SubPartitions, "sub-partitions", p.SubPartitions, "parts of the index, one for each 10,000 resources of a region; they can only become more (default 10)")
			descriptionFlag(f, &p.Stored)
		},
	}, "Makes, shows and removes pools: what keys lease resources from")
}
