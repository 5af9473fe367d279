package spendcache

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/processors/kafka"
)

// Other is another datacentre, whose packs are served while no process paces accounts in this one.
type Other struct {
	DC    string
	Kafka kafka.Cluster
}

const (
	// backAfter is the time for which a shard has a leader again until its own packs are served:
	// within a minute its leader writes all of them.
	backAfter = time.Minute
	// keepFollowing is the time for which other datacentres are followed after the last shard
	// needed them.
	keepFollowing = 10 * time.Minute
	// nextAfter is the time after which the next datacentre is followed, too, while a shard has
	// none.
	nextAfter = 20 * time.Second
	// otherRetry is the time until another datacentre is followed again after a failure.
	otherRetry = 10 * time.Second
	// unreadEvery is the time between two lines in the log about a datacentre that cannot be read.
	unreadEvery = time.Minute
)

// other follows how another datacentre paces campaigns, while a shard here has no leader.
type other struct {
	dc, topic string
	follower  *follower.Follower
	leaders   []leader      // by shard
	stop      func()        // nil: it is not followed now
	ended     chan struct{} // closed when the last following has ended; nil: there was none
	reported  time.Time     // that it cannot be read
}

// serving is whose packs of a shard are served.
type serving struct {
	by         atomic.Pointer[other] // nil: those of this datacentre
	overridden atomic.Bool           // an operator has decided whose
	since      time.Time             // from when on the shard has had a leader; zero: it has none
}

// substitutes decides whose packs are served. Its methods are called by one goroutine, unless they
// state it.
type substitutes struct {
	cfg     *Config
	others  []*other
	serving []serving // by shard
	needed  time.Time // when a shard had no leader last
	without time.Time // from when on a shard has had neither a leader nor another datacentre; zero: none has
}

func newSubstitutes(cfg *Config) (*substitutes, error) {
	shards := cfg.Layout.Partitions()
	s := &substitutes{cfg: cfg, serving: make([]serving, shards)}
	for _, o := range cfg.Others {
		c := cfg.other(&o)
		f, err := follower.New(c)
		if err != nil {
			return nil, fmt.Errorf("%w: Others: %s: %w", ErrConfig, o.DC, err)
		}
		s.others = append(s.others, &other{dc: o.DC, topic: c.Topics[0].Name, follower: f, leaders: make([]leader, shards)})
	}
	return s, nil
}

// ownShards is what is known of the shards here.
type ownShards interface {
	led(shard int) leadership
	// stale reports whether the packs of a shard rest on old spend, or on none.
	stale(shard int) bool
}

// evaluate decides, by the shards of this datacentre, once a second.
func (s *substitutes) evaluate(ctx context.Context, now time.Time, own ownShards) {
	if len(s.others) == 0 {
		return
	}
	writer := s.writer(now)
	alone := false // a shard has neither a leader nor another datacentre
	for n := range s.serving {
		v, led := &s.serving[n], own.led(n)
		by, none := v.by.Load(), led == noLeader
		switch {
		case none || led == unknownLeaders && by != nil:
			v.since = time.Time{}
		case led != unknownLeaders && v.since.IsZero():
			v.since = now
		}
		if none || by != nil || writer != "" && writer != s.cfg.DC {
			s.needed = now
		}
		alone = alone || none && (by == nil || !by.leads(n, now))
	}
	switch {
	case !alone:
		s.without = time.Time{}
	case s.without.IsZero():
		s.without = now
	}
	if s.needed.IsZero() || now.Sub(s.needed) > keepFollowing {
		s.stop()
		return
	}
	for i, o := range s.others {
		if o.dc == writer || !s.without.IsZero() && now.Sub(s.without) >= time.Duration(i)*nextAfter {
			s.follow(ctx, o, now)
		}
		if o.stop != nil {
			s.observe(o, now)
		}
	}
	s.choose(now, own, writer)
}

// writer returns the datacentre that an operator has decided on, empty for none, or for one whose
// packs cannot be served.
func (s *substitutes) writer(now time.Time) string {
	writer := s.cfg.Writer(now)
	known := func(o *other) bool { return o.dc == writer }
	if writer == s.cfg.DC || slices.ContainsFunc(s.others, known) {
		return writer
	}
	return ""
}

// choose chooses whose packs of each shard are served. writer is the decision of an operator;
// empty: none.
func (s *substitutes) choose(now time.Time, own ownShards, writer string) {
	to, back := map[*other][]int32{}, []int32{}
	for n := range s.serving {
		v := &s.serving[n]
		by, decided := s.decided(n, now, writer)
		if !decided {
			by = s.wanted(n, now, own)
		}
		v.overridden.Store(decided)
		switch {
		case by == v.by.Load():
		case by == nil:
			v.by.Store(nil)
			back = append(back, int32(n))
		default:
			v.by.Store(by)
			to[by] = append(to[by], int32(n))
		}
	}
	for _, o := range s.others {
		if len(to[o]) > 0 {
			s.cfg.Log.Warn().Ints32("shards", to[o]).Str("peer", o.dc).Bool("override", o.dc == writer).Msg("pacing_served_by_peer")
		}
	}
	if len(back) > 0 {
		s.cfg.Log.Info().Ints32("shards", back).Msg("pacing_served_here")
	}
}

// decided returns whose packs of a shard are to be served by the decision of an operator, which
// holds for a shard that a process paces there. While the packs there cannot be read, the last ones
// that were read are served.
func (s *substitutes) decided(n int, now time.Time, writer string) (by *other, decided bool) {
	for _, o := range s.others {
		if o.dc == writer && (o.leads(n, now) || s.serving[n].by.Load() == o && o.unknown(n, now)) {
			return o, true
		}
	}
	return nil, writer == s.cfg.DC
}

// wanted returns whose packs of a shard are to be served without an operator, nil for those of this
// datacentre.
func (s *substitutes) wanted(n int, now time.Time, own ownShards) *other {
	v := &s.serving[n]
	by := v.by.Load()
	switch led := own.led(n); {
	case (by == nil || v.overridden.Load()) && led != noLeader:
		return nil
	case led == oneLeader || led == twoLeaders:
		if now.Sub(v.since) >= backAfter && !own.stale(n) {
			return nil
		}
		return by
	case by != nil && by.leads(n, now):
		return by
	}
	for _, o := range s.others {
		if o.leads(n, now) {
			return o
		}
	}
	return by // the last parameters that were read
}

// served returns the number of shards that each other datacentre serves. Any goroutine may call it.
func (s *substitutes) served() map[string]int {
	list := map[string]int{}
	for _, o := range s.others {
		list[o.dc] = 0
	}
	for n := range s.serving {
		if by := s.serving[n].by.Load(); by != nil {
			list[by.dc]++
		}
	}
	return list
}

// follow starts to follow another datacentre, if that has not begun.
func (s *substitutes) follow(ctx context.Context, o *other, now time.Time) {
	if o.stop != nil {
		return
	}
	before, ended := o.ended, make(chan struct{})
	ctx, o.stop = context.WithCancel(ctx)
	o.ended, o.reported = ended, now
	for n := range o.leaders { // what was read is old
		l := &o.leaders[n]
		l.row, l.seen, l.twice, l.gone = nil, time.Time{}, time.Time{}, false
		l.state.Store(int32(unknownLeaders))
	}
	go func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		for ctx.Err() == nil {
			if err := o.follower.Run(ctx); err != nil {
				s.cfg.Log.Warn().Str("peer", o.dc).Err(err).Msg("peer_pacing_unread")
			}
			pause.For(ctx, otherRetry)
		}
	}()
}

// stop ends the following, and does not wait for it.
func (s *substitutes) stop() {
	for _, o := range s.others {
		if o.stop != nil {
			o.stop()
			o.stop = nil
		}
	}
}

// end ends the following, and waits for it.
func (s *substitutes) end() {
	s.stop()
	for _, o := range s.others {
		if o.ended != nil {
			<-o.ended
		}
	}
}

// observe observes the leaders of another datacentre, and reports that it cannot be read.
func (s *substitutes) observe(o *other, now time.Time) {
	read, why := map[int32]time.Time{}, ""
	for _, p := range o.follower.Status() {
		read[p.Partition] = p.AsOf
		if p.State == follower.StateWaiting {
			why = p.Reason
		}
	}
	snap, err := o.follower.Snapshot()
	if err == nil {
		defer func() { _ = snap.Close() }() // a snapshot of an open database has no error
	}
	unread := 0
	for n := range o.leaders {
		l, at := &o.leaders[n], read[int32(n)]
		state := unknownLeaders
		if err == nil && !at.IsZero() && now.Sub(at) < packsReadLimit {
			state = l.observe(now, readLeader(snap, o.topic, int32(n)), true)
		} else {
			unread++
			l.observe(now, nil, false)
		}
		l.state.Store(int32(state))
	}
	if unread > 0 && now.Sub(o.reported) >= unreadEvery {
		o.reported = now
		s.cfg.Log.Warn().Str("peer", o.dc).Int("shards", unread).Str("error", why).Msg("peer_pacing_unread")
	}
}

// leads reports whether a process paces the accounts of a shard there. A row that is old, by two
// clocks, is not that of a leader of now.
func (o *other) leads(shard int, now time.Time) bool {
	l := &o.leaders[shard]
	state := leadership(l.state.Load())
	return (state == oneLeader || state == twoLeaders) && l.lately(now)
}

// unknown reports whether nothing can be read there since a leader wrote lately.
func (o *other) unknown(shard int, now time.Time) bool {
	l := &o.leaders[shard]
	return leadership(l.state.Load()) == unknownLeaders && l.lately(now)
}

// lately reports whether the last row is not old.
func (l *leader) lately(now time.Time) bool {
	return now.Sub(time.UnixMilli(l.row.GetAtMs())) < pack.PeerAge
}
