package integration

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/control"
)

// paceLog checks the log of pacing.by.<dc>: the rows of leaders and the packs.
type paceLog struct {
	mu     sync.Mutex
	shards map[int32]*paceShard
	nodes  map[paceNode]paceStep // newest
	wrong  []string

	takeovers int
	packs     int
	// The greatest change of the logarithm of a probability, for each tick that has passed, and
	// between the last pack of an owner and the first of the next one.
	step, stepAtTakeover float64
}

// paceShard is the last writer of a partition.
type paceShard struct {
	process                      string
	incarnation, epoch, sequence uint64
	at                           time.Time // when its last record was read
}

// paceNode is a campaign of an account.
type paceNode struct{ account, campaign string }

// paceStep is the state of a campaign in a pack.
type paceStep struct {
	atMs               int64
	day                int32
	incarnation, epoch uint64
	probability        float64
}

func newPaceLog() *paceLog {
	return &paceLog{shards: map[int32]*paceShard{}, nodes: map[paceNode]paceStep{}}
}

// read takes the next committed record of a partition.
func (l *paceLog) read(r *kgo.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(r.Key) == 0 || r.Value == nil:
	case r.Key[0] == pacing.TableLeaders:
		m := &eventspb.ShardLeader{}
		if !l.decode(r, m) {
			return
		}
		if s := l.writer(r, m.GetIncarnation(), m.GetOwnerEpoch(), m.GetSequence()); s != nil {
			s.process = m.GetProcess()
		}
	case r.Key[0] == pacing.TablePacks:
		m := &eventspb.AccountPack{}
		if !l.decode(r, m) {
			return
		}
		l.writer(r, m.GetIncarnation(), m.GetOwnerEpoch(), m.GetSequence())
		l.packs++
		for _, c := range m.GetCampaigns() {
			l.pack(r, m, c)
		}
	}
}

func (l *paceLog) decode(r *kgo.Record, m proto.Message) bool {
	err := proto.Unmarshal(r.Value, m)
	if err != nil {
		l.report(r, "%v", err)
	}
	return err == nil
}

func (l *paceLog) report(r *kgo.Record, format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf("partition %d, offset %d: ", r.Partition, r.Offset)+fmt.Sprintf(format, args...))
}

// writer takes the writer of a record. A former one must not write behind its successor. It returns
// nil for one that does.
func (l *paceLog) writer(r *kgo.Record, incarnation, epoch, sequence uint64) *paceShard {
	s := l.shards[r.Partition]
	if s == nil {
		s = &paceShard{incarnation: incarnation, epoch: epoch, sequence: sequence}
		l.shards[r.Partition] = s
	}
	s.at = time.Now()
	owner := cmp.Or(cmp.Compare(incarnation, s.incarnation), cmp.Compare(epoch, s.epoch))
	if owner < 0 || owner == 0 && sequence < s.sequence {
		l.report(r, "written by owner %d/%d/%d behind %d/%d/%d", incarnation, epoch, sequence, s.incarnation, s.epoch, s.sequence)
		return nil
	}
	if owner > 0 {
		l.takeovers++
	}
	s.incarnation, s.epoch, s.sequence = incarnation, epoch, sequence
	return s
}

// pack takes a campaign of a pack: its probability changes by one step for each tick at most.
func (l *paceLog) pack(r *kgo.Record, m *eventspb.AccountPack, c *eventspb.PacedNode) {
	key := paceNode{m.GetAccount(), c.GetId()}
	now := paceStep{m.GetAtMs(), m.GetBudgetDay(), m.GetIncarnation(), m.GetOwnerEpoch(), c.GetState().GetProbability()}
	was, known := l.nodes[key]
	l.nodes[key] = now
	if !known || was.day != now.day || !(was.probability > 0) {
		return
	}
	step := math.Abs(math.Log(now.probability / was.probability))
	ticks := max(1, math.Ceil(float64(now.atMs-was.atMs)/float64(control.Tick.Milliseconds())-0.01))
	l.step = max(l.step, step/ticks)
	if was.epoch != now.epoch || was.incarnation != now.incarnation {
		l.stepAtTakeover = max(l.stepAtTakeover, step)
	}
	if step > control.MaxStep*ticks*1.000001 {
		l.report(r, "the probability of %s of %s has gone from %.4f to %.4f in %.0f ticks", c.GetId(), m.GetAccount(), was.probability,
			now.probability, ticks)
	}
}

// led returns the partitions that a process led last.
func (l *paceLog) led(process string) (list []int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, s := range l.shards {
		if s.process == process {
			list = append(list, p)
		}
	}
	return list
}

// leadBesides returns how many partitions of a list a process leads no more.
func (l *paceLog) leadBesides(process string, list []int32) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range list {
		if l.shards[p].process != process {
			n++
		}
	}
	return n
}

// silent returns a shard without a record since a time.
func (l *paceLog) silent(shards int32, since time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range shards {
		if s := l.shards[p]; s == nil || s.at.Before(since) {
			return fmt.Errorf("partition %d has no record since %s", p, since.Format(time.TimeOnly))
		}
	}
	return nil
}

// probability returns the probability of a campaign, 1 if it is not known.
func (l *paceLog) probability(account, campaign string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.nodes[paceNode{account, campaign}]; ok {
		return s.probability
	}
	return 1
}

// findings returns what is wrong.
func (l *paceLog) findings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}

// paceLogNotices returns the mistakes that the checks of a log do not notice: records of a former
// owner behind one of the next, and a probability that has jumped.
func paceLogNotices(records []*kgo.Record) (missed []string) {
	check := func(list []*kgo.Record) int {
		l := newPaceLog()
		for _, r := range list {
			l.read(r)
		}
		return len(l.wrong)
	}
	base := check(records)
	var late, jump []*kgo.Record
	first := map[int32]*kgo.Record{}
	for _, r := range records {
		if len(r.Key) > 0 && r.Key[0] == pacing.TableLeaders && first[r.Partition] == nil {
			first[r.Partition] = r
		}
		jump = append(jump, jumped(r))
	}
	late = append(late, records...)
	for _, r := range first {
		late = append(late, r)
	}
	if check(late) == base {
		missed = append(missed, "the first row of each leader again at the end")
	}
	if check(jump) == base {
		missed = append(missed, "probabilities that jump")
	}
	return missed
}

// jumped returns a record of a pack in which every other campaign has another probability.
func jumped(r *kgo.Record) *kgo.Record {
	m := &eventspb.AccountPack{}
	if len(r.Key) == 0 || r.Key[0] != pacing.TablePacks || r.Value == nil || r.Offset%2 == 0 || proto.Unmarshal(r.Value, m) != nil {
		return r
	}
	for _, c := range m.GetCampaigns() {
		if s := c.GetState(); s != nil {
			s.Probability = min(1, 3*s.GetProbability())
		}
	}
	out := *r
	var err error
	if out.Value, err = proto.Marshal(m); err != nil || bytes.Equal(out.Value, r.Value) {
		return r
	}
	return &out
}
