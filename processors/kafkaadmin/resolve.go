package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// Bounds of one transaction. The bytes keep every uncompressed batch below the limit of the topics.
const (
	maxResolveRecords = 500
	maxResolveBytes   = 512 << 10
	resolveTimeout    = 30 * time.Second
)

// Errors to branch on.
var (
	// ErrTakenOver means that another replay or drop of the same application has begun.
	ErrTakenOver = errors.New("another replay or drop fenced this one")
	// ErrOutcomeUnknown means that a transaction may or may not be committed. To repeat it is safe.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrTransactionalID means that the brokers did not grant the transactional id.
	ErrTransactionalID = errors.New("cannot acquire the transactional id")
)

// ResolveOptions are the options of ReplayDeadLetters and DropDeadLetters.
type ResolveOptions struct {
	// Topic is the dead-letter topic: <application>.dlq.
	Topic string
	// By and Why are stored in the tombstone. DropDeadLetters requires both.
	By, Why string
	// Progress, if set, is called after each transaction.
	Progress func(ResolveResult)
	// Partition, if set, returns the partition for the record of a dead letter, with the number of
	// partitions that the record's topic has now. After its error nothing is replayed. Defaults to
	// the partition of the dead letter's origin.
	Partition func(l *DeadLetter, partitions int32) (int32, error)
	// AllowOldTransactions accepts brokers below transaction.version 2: see
	// processors.ErrTransactions.
	AllowOldTransactions bool

	failpoint func(at string, cl *kgo.Client) error // for tests: an error ends the session as a crash would
}

// ResolveResult counts dead letters.
type ResolveResult struct {
	Done            int `json:"done"` // replayed or dropped by this call, and committed
	AlreadyResolved int `json:"gone"` // resolved before this call
	Remaining       int `json:"left"` // not done
}

// ReplayDeadLetters produces the record of each dead letter to the partition that
// ResolveOptions.Partition returns, its original one by default, with the header weir-replay-of in
// addition, and resolves the dead letter, both in one transaction. It leaves out dead letters that
// are resolved already. If the application still rejects the records, they become new dead letters.
// After an error a part of the work may be undone: ResolveResult counts what is certainly
// committed, and another call does the rest exactly once.
func ReplayDeadLetters(ctx context.Context, k kafka.Cluster, letters []DeadLetter, o ResolveOptions) (ResolveResult, error) {
	for i := range letters {
		if err := letters[i].Malformed; err != nil {
			return ResolveResult{
					Remaining: len(letters),
				},
				fmt.Errorf("dead letter %s at %s[%d]@%d cannot be replayed: %w. Nothing was done: leave it out, or drop it",
					letters[i].Name(), o.Topic, letters[i].Partition, letters[i].Offset, err)
		}
	}
	return resolve(ctx, k, letters, &session{ResolveOptions: o, how: howReplayed})
}

// DropDeadLetters resolves dead letters without replaying their records. The records stay in the
// topic until it is compacted. Errors are those of ReplayDeadLetters.
func DropDeadLetters(ctx context.Context, k kafka.Cluster, letters []DeadLetter, o ResolveOptions) (ResolveResult, error) {
	if o.By == "" || o.Why == "" {
		return ResolveResult{Remaining: len(letters)}, errors.New("a dead letter is dropped for ever: set By and Why")
	}
	return resolve(ctx, k, letters, &session{ResolveOptions: o, how: "dropped"})
}

// howReplayed is the value of HeaderResolved on the tombstone of a replayed dead letter.
const howReplayed = "replayed"

// session is one use of the transactional id.
type session struct {
	ResolveOptions
	how   string
	cl    *kgo.Client
	id    int64 // producer id and epoch of the last transaction
	epoch int16
}

func resolve(ctx context.Context, k kafka.Cluster, letters []DeadLetter, s *session) (out ResolveResult, err error) {
	out.Remaining = len(letters)
	if len(letters) == 0 {
		return out, nil
	}
	if s.failpoint == nil {
		s.failpoint = func(string, *kgo.Client) error { return nil }
	}
	if err := s.open(ctx, k); err != nil {
		return out, err
	}
	defer s.cl.Close()
	open, err := s.unresolved(ctx, letters)
	if err != nil {
		return out, err
	}
	out.AlreadyResolved = len(letters) - len(open)
	out.Remaining = len(open)
	if err := s.route(ctx, open); err != nil {
		return out, err
	}
	for len(open) > 0 {
		n := chunk(open)
		if err := s.transact(ctx, open[:n]); err != nil {
			return out, err
		}
		out.Done, out.Remaining, open = out.Done+n, out.Remaining-n, open[n:]
		if s.Progress != nil {
			s.Progress(out)
		}
	}
	return out, nil
}

// open acquires the transactional id: the brokers first end an open transaction of an earlier
// session.
func (s *session) open(ctx context.Context, k kafka.Cluster) (err error) {
	app := strings.TrimSuffix(s.Topic, ".dlq")
	s.cl, err = k.Connect(ctx,
		kgo.TransactionalID("weir-dlq-"+app), kgo.TransactionTimeout(resolveTimeout), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(64<<20), kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()),
	)
	if err != nil {
		return fmt.Errorf("connect to the brokers: %w", err)
	}
	defer func() {
		if err != nil {
			s.cl.Close()
		}
	}()
	version, err := kafka.TransactionVersion(ctx, s.cl)
	if err != nil {
		return err
	}
	if version < 2 && !s.AllowOldTransactions {
		return fmt.Errorf(
			"%w: the brokers finalized transaction.version %d: below 2 a late request of a dead session can end up in the next transaction, and a record would be replayed twice. Upgrade with kafka-features.sh upgrade --feature transaction.version=2", processors.ErrTransactions, version)
	}
	if s.id, s.epoch, err = s.cl.ProducerID(ctx); err != nil {
		return fmt.Errorf("%w weir-dlq-%s: %w: check that the brokers run and that ACLs allow Write on the id", ErrTransactionalID, app,
			err)
	}
	return s.failpoint("opened", s.cl)
}

// unresolved reads the topic again, now that no other session can resolve dead letters. It returns
// the dead letters that are still unresolved, as the topic has them. It reads to the high
// watermark: a read to the last stable offset would miss tombstones behind an open transaction of
// the application.
func (s *session) unresolved(ctx context.Context, letters []DeadLetter) ([]DeadLetter, error) {
	scan, err := newScanner(ctx, s.cl, s.Topic)
	if err != nil {
		return nil, err
	}
	ends, err := kadm.NewClient(s.cl).ListEndOffsets(ctx, s.Topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the end offsets of %s: %w", s.Topic, err)
	}
	wanted := map[int32][]string{}
	for i := range letters {
		wanted[letters[i].Partition] = append(wanted[letters[i].Partition], string(letters[i].key))
	}
	var open []DeadLetter
	for p, keys := range wanted {
		end, ok := ends.Lookup(s.Topic, p)
		if !ok {
			return nil, fmt.Errorf("%s has no partition %d: the dead letters are from another topic", s.Topic, p)
		}
		have, err := scan.letters(ctx, p, end.Offset)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if l, ok := have[key]; ok {
				open = append(open, l)
				delete(have, key) // a duplicate argument counts once
			}
		}
	}
	slices.SortFunc(open, byPosition)
	return open, s.failpoint("checked", s.cl)
}

// route finds the partition for the record of each dead letter to replay.
func (s *session) route(ctx context.Context, letters []DeadLetter) error {
	if s.how != howReplayed || s.Partition == nil {
		for i := range letters {
			letters[i].to = letters[i].Origin.Partition
		}
		return nil
	}
	partitions := map[string]int32{}
	for i := range letters {
		l := &letters[i]
		n, known := partitions[l.Origin.Topic]
		if !known {
			topic, err := newScanner(ctx, s.cl, l.Origin.Topic)
			if err != nil {
				return fmt.Errorf("%w. Nothing was done: leave the dead letters of this topic out, or drop them", err)
			}
			n = int32(len(topic.partitions()))
			partitions[l.Origin.Topic] = n
		}
		to, err := s.Partition(l, n)
		if err == nil && (to < 0 || to >= n) {
			err = fmt.Errorf("the record belongs to partition %d, and %s has %d partitions", to, l.Origin.Topic, n)
		}
		if err != nil {
			return fmt.Errorf("dead letter %s cannot be replayed: %w. Nothing was done: leave it out, or drop it", l.Name(), err)
		}
		l.to = to
	}
	return nil
}

// chunk returns the number of dead letters for one transaction, at least one.
func chunk(letters []DeadLetter) int {
	size := 0
	for i := range letters {
		if size += letters[i].size(); i > 0 && (i == maxResolveRecords || size > maxResolveBytes) {
			return i
		}
	}
	return len(letters)
}

// transact resolves dead letters in one transaction. After an error the session must end: another
// session may have fenced it.
func (s *session) transact(ctx context.Context, letters []DeadLetter) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	var records []*kgo.Record
	for i := range letters {
		if s.how == howReplayed {
			records = append(records, letters[i].replay())
		}
		records = append(records, letters[i].tombstone(s.Topic, s.how, s.ResolveOptions))
	}
	if err := s.cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return s.abort(ctx, err)
	}
	if err := s.failpoint("produced", s.cl); err != nil {
		return err
	}
	if id, epoch, err := s.cl.ProducerID(ctx); err != nil || id != s.id || epoch != s.epoch {
		return s.takenOver(err)
	}
	// Not cancelled by ctx: once the commit is sent, only its outcome matters.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	switch err := s.cl.EndTransaction(end, kgo.TryCommit); {
	case err == nil:
		return s.failpoint("committed", s.cl)
	case fenced(err):
		return s.takenOver(err)
	default:
		return fmt.Errorf("%w: the commit of %d dead letters of %s was not answered: %w. Repeat it: resolved dead letters are left out",
			ErrOutcomeUnknown, len(letters), s.Topic, err)
	}
}

// begin starts a transaction. It fails if the client has lost its session and renewed it, because
// another session may have resolved dead letters since unresolved read the topic. Each transaction
// raises the epoch by at most one.
func (s *session) begin(ctx context.Context) error {
	if err := s.cl.BeginTransaction(); err != nil {
		return s.takenOver(err)
	}
	id, epoch, err := s.cl.ProducerID(ctx)
	if err != nil || id != s.id || epoch < s.epoch || epoch > s.epoch+1 {
		return s.takenOver(err)
	}
	s.epoch = epoch
	return nil
}

func (s *session) abort(ctx context.Context, cause error) error {
	if fenced(cause) {
		return s.takenOver(cause)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	cause = fmt.Errorf("dead letters of %s were not resolved: %w", s.Topic, cause)
	if err := errors.Join(s.cl.AbortBufferedRecords(ctx), s.cl.EndTransaction(ctx, kgo.TryAbort)); err != nil {
		return errors.Join(cause,
			fmt.Errorf("the transaction could not be aborted; the brokers abort it after %s: %w", resolveTimeout, err))
	}
	return cause
}

func (s *session) takenOver(cause error) error {
	if cause == nil {
		cause = kerr.ProducerFenced
	}
	return fmt.Errorf(
		"%w of %s, or the brokers timed out this session (%w): the open transaction is aborted. Repeat it for the remaining dead letters",
		ErrTakenOver, s.Topic, cause)
}

func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) ||
		errors.Is(err, kerr.InvalidProducerIDMapping) || errors.Is(err, kerr.OperationNotAttempted)
}
