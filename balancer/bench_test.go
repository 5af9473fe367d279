package balancer

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// stockpile is a store that generates the resources of many pools on demand.
type stockpile struct {
	harness
	pools, each int // resources of each pool
	scanned     int
}

func (s *stockpile) resource(i int) row {
	r := row{version: int64(i%50 + 2), owner: regions4()[i%4]}
	if i%4 == 3 || i%5 < 4 { // four of five are leased; ap has nothing free
		r.holder, r.expires = uint64(i+1), start+int64(i)*7919%5_400_000
	} else {
		r.available = start - int64(i%1_000_000)
	}
	return r
}

func regions4() []string { return []string{"eu", "us", "sa", "ap"} }

func (s *stockpile) scan(table byte, prefix []byte, fn func(key, value []byte) error) error {
	switch table {
	case TableResources:
		var key, value []byte
		for p := range s.pools {
			for i := range s.each {
				key = fmt.Appendf(key[:0], "client\x00pool-%04d\x00", p)
				key = binary.BigEndian.AppendUint64(key, uint64(i))
				r := s.resource(i)
				value = r.encode(value[:0])
				if err := fn(key, value); err != nil {
					return err
				}
			}
		}
	case TableFree:
		for i := range s.each {
			r := s.resource(i)
			if !r.free() || string(freePrefix(string(prefix[:len("client\x00pool-0000")]), r.owner)) != string(prefix) {
				continue
			}
			s.scanned++
			key := freeKey(string(prefix[:len("client\x00pool-0000")]), &r, fmt.Sprint(i))
			if err := fn(key, binary.AppendUvarint(nil, uint64(r.version))); err != nil {
				return err
			}
		}
	}
	return nil
}

// BenchmarkPlanAll has one balancer with 15.5 million resources (155,000 with -short) in 1,000
// pools and four regions, of which one has no free resources. It measures the takeover, which
// counts the resources, and one tick with a plan of each pool.
func BenchmarkPlanAll(b *testing.B) {
	s := &stockpile{pools: 1000, each: 15_500}
	if testing.Short() {
		s.each = 155
	}
	s.harness = harness{t: b, cfg: Config{Regions: regions4()}, store: map[string][]byte{}, timers: map[int64]bool{}, set: map[int64]bool{}, nowMs: start}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	core, err := New(s.cfg, stream.Task{Partition: 3, Get: s.get, Scan: s.scan, Timers: &s.harness})
	if err != nil {
		b.Fatal(err)
	}
	load := time.Since(began)
	s.b = core
	for r := range core.regions {
		reg := &core.regions[r]
		reg.heartbeatMs, reg.clockMs = start, start
		for o := range core.regions {
			reg.seen[core.cfg.Regions[o]] = heartbeat{writtenMs: start + 1<<40}
		}
	}
	for _, p := range core.order {
		for i := range p.regions {
			for at := start - 3_600_000; at < start; at += 10_000 {
				p.regions[i].series.Add(at, 4, p.regions[i].profile)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	now := start
	b.ResetTimer()
	commands := 0
	for b.Loop() {
		now += 10_000
		for r := range core.regions {
			core.regions[r].heartbeatMs, core.regions[r].clockMs = now, now
		}
		if err := core.OnTimer(now, nil); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		var ch stream.Changes
		commands = 0
		for _, o := range core.out {
			m := &eventspb.LeaseCommand{}
			if isCommand(o.to) && proto.Unmarshal(o.value, m) == nil && m.GetTransfer() != nil {
				commands++
			}
		}
		if err := core.Flush(stream.Commit{NowMs: now}, &ch); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.StopTimer()
	b.ReportMetric(load.Seconds(), "s/takeover")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
	b.ReportMetric(float64(commands), "moves")
	b.ReportMetric(float64(s.pools*s.each), "resources")
	runtime.KeepAlive(core)
}

// BenchmarkFold folds leases that begin or end: each row is read, compared and counted.
func BenchmarkFold(b *testing.B) {
	r := newHarness(b, Config{Regions: regions3})
	const n = 4096
	rows := make([]*eventspb.LeaseResource, n)
	for i := range rows {
		rows[i] = &eventspb.LeaseResource{Resource: fmt.Sprintf("resource-%06d", i), Owner: "eu", Version: 1, AvailableMs: start}
	}
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		in := &stream.Batch{Topic: "lease.changes", Partition: 3}
		for i, m := range rows {
			v, err := proto.Marshal(r.change("p", m))
			if err != nil {
				b.Fatal(err)
			}
			in.Records = append(in.Records, stream.Record{Value: v, TimeMs: start})
			if m.Version++; m.Holder == "" {
				m.Holder, m.ExpiresMs, m.AvailableMs = "p#k", start+int64(i)*1000, 0
			} else {
				m.Holder, m.ExpiresMs, m.AvailableMs = "", 0, start+int64(i)*1000
			}
		}
		b.StartTimer()
		if err := r.b.Fold(in); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		r.commit()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "changes/s")
}
