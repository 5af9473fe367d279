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

// Bounds of one transaction. The bytes keep every batch below what topics accept, uncompressed.
const (
	maxResolveRecords = 500
	maxResolveBytes   = 512 << 10
	resolveTimeout    = 30 * time.Second
)

// Errors to branch on.
var (
	// ErrTakenOver: another replay or drop of the same application began meanwhile.
	ErrTakenOver = errors.New("another replay or drop took over")
	// ErrOutcomeUnknown: a transaction may be committed or not. Doing it again is safe.
	ErrOutcomeUnknown = errors.New("outcome unknown")
)

// ResolveOptions says what to resolve, and who wants it.
type ResolveOptions struct {
	// Topic is the dead-letter queue: <application>.dlq.
	Topic string
	// By and Why are kept with the letter's tombstone. Drop wants both.
	By, Why string
	// Progress, if set, is called after each transaction.
	Progress func(Outcome)
	// AllowOldTransactions works against brokers below transaction.version 2: see processors.ErrTransactions.
	AllowOldTransactions bool

	failpoint func(at string, cl *kgo.Client) error // for tests: an error ends the session as a crash would
}

// Outcome counts letters.
type Outcome struct {
	Done            int `json:"done"` // replayed or dropped by this call, committed
	AlreadyResolved int `json:"gone"` // were resolved before
	Remaining       int `json:"left"` // not done
}

// Replay puts each letter's record back where it was, byte for byte and with header weir-replay-of besides, and resolves
// the letter, both in one transaction. Letters resolved meanwhile are left out. The application must be able to fold the
// records by now, or they come back as new letters. An error that wraps ErrTakenOver or ErrUnknown, or any other, says
// that part of the work is not done: Outcome counts what certainly is, and calling again does the rest, once.
func Replay(ctx context.Context, k kafka.Cluster, letters []DeadLetter, o ResolveOptions) (Outcome, error) {
	for i := range letters {
		if err := letters[i].Malformed; err != nil {
			return Outcome{Remaining: len(letters)}, fmt.Errorf("letter %s at %s[%d]@%d cannot be replayed: %w; nothing was done: leave it out, or drop it", letters[i].Name(), o.Topic, letters[i].Partition, letters[i].Offset, err)
		}
	}
	return resolve(ctx, k, letters, &session{ResolveOptions: o, how: "replayed"})
}

// Drop resolves letters without their records: those are never folded. Their bytes stay in the queue until it is
// compacted. Errors are those of Replay.
func Drop(ctx context.Context, k kafka.Cluster, letters []DeadLetter, o ResolveOptions) (Outcome, error) {
	if o.By == "" || o.Why == "" {
		return Outcome{Remaining: len(letters)}, errors.New("a letter is dropped for good: say who drops it and why")
	}
	return resolve(ctx, k, letters, &session{ResolveOptions: o, how: "dropped"})
}

// session is one life of the transactional id.
type session struct {
	ResolveOptions
	how   string
	cl    *kgo.Client
	id    int64 // producer id and epoch as of the last transaction
	epoch int16
}

func resolve(ctx context.Context, k kafka.Cluster, letters []DeadLetter, s *session) (out Outcome, err error) {
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

// open takes the transactional id: what an earlier life of it left open is ended before the broker answers.
func (s *session) open(ctx context.Context, k kafka.Cluster) (err error) {
	app := strings.TrimSuffix(s.Topic, ".dlq")
	s.cl, err = k.Client(
		kgo.TransactionalID("weir-dlq-"+app), kgo.TransactionTimeout(resolveTimeout), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(64<<20), kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()),
	)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
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
		return fmt.Errorf("%w: the brokers finalised transaction.version %d: below 2 a late request of a dead session can land in the next transaction, and a letter be counted twice. Upgrade with kafka-features.sh upgrade --feature transaction.version=2", processors.ErrTransactions, version)
	}
	if s.id, s.epoch, err = s.cl.ProducerID(ctx); err != nil {
		return fmt.Errorf("take transactional id weir-dlq-%s: %w: check that the brokers run and that ACLs allow it (`weir doctor`)", app, err)
	}
	return s.failpoint("opened", s.cl)
}

// unresolved reads the queue again, now that nobody else can resolve letters, and returns the letters that are still
// open, as the queue has them. It reads to the high watermark: with a read to the last stable offset, a transaction that
// the application itself has open would hide tombstones behind it.
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
		return nil, fmt.Errorf("read the ends of %s: %w", s.Topic, err)
	}
	wanted := map[int32][]string{}
	for i := range letters {
		wanted[letters[i].Partition] = append(wanted[letters[i].Partition], string(letters[i].key))
	}
	var open []DeadLetter
	for p, keys := range wanted {
		end, ok := ends.Lookup(s.Topic, p)
		if !ok {
			return nil, fmt.Errorf("%s has no partition %d: the letters are of another queue", s.Topic, p)
		}
		have, err := scan.letters(ctx, p, end.Offset)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if l, ok := have[key]; ok {
				open = append(open, l)
				delete(have, key) // named twice is done once
			}
		}
	}
	slices.SortFunc(open, byPosition)
	return open, s.failpoint("checked", s.cl)
}

// chunk is how many of letters go into one transaction: at least one.
func chunk(letters []DeadLetter) int {
	size := 0
	for i := range letters {
		if size += letters[i].size(); i > 0 && (i == maxResolveRecords || size > maxResolveBytes) {
			return i
		}
	}
	return len(letters)
}

// transact resolves letters in one transaction. After an error the session is over: it is not known to be ours any more.
func (s *session) transact(ctx context.Context, letters []DeadLetter) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	var records []*kgo.Record
	for i := range letters {
		if s.how == "replayed" {
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
	// Not cancelled by ctx: a commit that was sent can only be waited for.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	switch err := s.cl.EndTransaction(end, kgo.TryCommit); {
	case err == nil:
		return s.failpoint("committed", s.cl)
	case fenced(err):
		return s.takenOver(err)
	default:
		return fmt.Errorf("%w: the commit of %d letters of %s was sent and not answered: %w. Do it again: letters that were resolved are left out", ErrOutcomeUnknown, len(letters), s.Topic, err)
	}
}

// begin starts a transaction, and makes sure that the client did not renew its session by itself after it lost it:
// between the check of the letters and now, someone else may have resolved them. Each transaction raises the epoch by
// at most one.
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
	cause = fmt.Errorf("letters of %s were not resolved: %w", s.Topic, cause)
	if err := errors.Join(s.cl.AbortBufferedRecords(ctx), s.cl.EndTransaction(ctx, kgo.TryAbort)); err != nil {
		return errors.Join(cause, fmt.Errorf("their transaction could not be aborted, the brokers do it after %s: %w", resolveTimeout, err))
	}
	return cause
}

func (s *session) takenOver(cause error) error {
	if cause == nil {
		cause = kerr.ProducerFenced
	}
	return fmt.Errorf("%w of %s, or the brokers timed this one out (%w): it stopped, and what it had not committed is undone. `weir dlq list` shows what is left; do it again for that", ErrTakenOver, s.Topic, cause)
}

func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.InvalidProducerIDMapping) || errors.Is(err, kerr.OperationNotAttempted)
}
