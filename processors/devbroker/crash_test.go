package devbroker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// copyDir copies a directory of a broker that runs, as a kill at this moment would leave it.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		raw, err := os.ReadFile(path)
		if err != nil || rel == "LOCK" {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), raw, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

const crashParts = 4

// mover is a transactional session that moves numbers from topic in to topic log: record i of a partition becomes i there.
type mover struct{ sess *kgo.GroupTransactSession }

func newMover(t testing.TB, b *Broker) *mover {
	t.Helper()
	sess, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(b.Addrs()...), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("in"), kgo.TransactionalID("mover"),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sess.Close)
	return &mover{sess}
}

// move handles one poll in one transaction; it returns the number of records moved.
func (m *mover) move(ctx context.Context) (int, error) {
	f := m.sess.PollRecords(ctx, 200)
	if err := f.Err(); err != nil {
		return 0, err
	}
	if err := m.sess.Begin(); err != nil {
		return 0, err
	}
	n := 0
	f.EachRecord(func(r *kgo.Record) {
		n++
		m.sess.Produce(ctx, &kgo.Record{Topic: "log", Partition: r.Partition, Key: fmt.Append(nil, r.Offset), Value: fmt.Append(nil, r.Offset)}, nil)
	})
	ok, err := m.sess.End(ctx, kgo.TryCommit)
	if err == nil && !ok {
		err = errors.New("not committed")
	}
	return n, err
}

// judge holds the moved records against the group's offsets: each input below the offset exactly once, none above it.
func judge(t *testing.T, b *Broker) (moved int) {
	t.Helper()
	at := offsets(t, b, "g")
	got := committed(t, b, "log")
	for p := range int32(crashParts) {
		if int64(len(got[p])) != at[p] {
			t.Errorf("partition %d: %d records moved, the group is at %d", p, len(got[p]), at[p])
		}
		for i, v := range got[p] {
			if v != strconv.Itoa(i) {
				t.Fatalf("partition %d: record %d is %s", p, i, v)
			}
		}
		moved += len(got[p])
	}
	return moved
}

func fill(t testing.TB, b *Broker, n int) {
	t.Helper()
	cl := client(t, b)
	for i := range n {
		cl.Produce(t.Context(), &kgo.Record{Topic: "in", Partition: int32(i % crashParts), Value: []byte("v")}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// torn is a directory with a commit that was asked for, and the same with the commit done.
func torn(t *testing.T) (before, after string) {
	t.Helper()
	dir := t.TempDir()
	b := start(t, Config{DataDir: dir, Topics: topics(crashParts)})
	fill(t, b, 40)
	m := newMover(t, b)
	b.cluster.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if r := req.(*kmsg.EndTxnRequest); r.Commit && before == "" {
			before = copyDir(t, dir) // the journal has it, and nothing else happened
		}
		return nil, nil, false
	})
	for n := 0; n < 40; {
		k, err := m.move(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += k
		if n > 0 && after == "" {
			after = copyDir(t, dir)
			if n != 40 {
				t.Skip("the first transaction did not take all records") // its offsets would not be those of the journal
			}
		}
	}
	return before, after
}

// TestCommitCutOff tries every number of writes after which the broker can die while it ends a transaction.
func TestCommitCutOff(t *testing.T) {
	before, after := torn(t)
	cfg := func(dir string) Config {
		return Config{DataDir: dir, Topics: topics(crashParts), Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)}
	}
	for done := 0; done <= 2*crashParts+3; done++ {
		dir := copyDir(t, before)
		left := done
		// The broker's order: for each partition the marker and its index entry, then the offsets, then the producer.
		for p := range crashParts {
			for _, ext := range []string{".dat", ".idx"} {
				if left--; left >= 0 {
					name := filepath.Join("kafka", "partitions", fmt.Sprintf("log-%d", p), "0"+ext)
					overwrite(t, filepath.Join(after, name), filepath.Join(dir, name), 1)
				}
			}
		}
		if left > 0 {
			overwrite(t, filepath.Join(after, "kafka", "groups.log"), filepath.Join(dir, "kafka", "groups.log"), float64(min(left, 2))/2)
		}
		if left > 2 {
			overwrite(t, filepath.Join(after, "kafka", "pids.log"), filepath.Join(dir, "kafka", "pids.log"), 1)
		}
		b := start(t, cfg(dir))
		if moved := judge(t, b); moved != 40 {
			t.Errorf("after %d writes: %d records moved, the commit was asked for", done, moved)
		}
		if done != crashParts { // a new member waits 3 s for others
			_ = b.Close()
			continue
		}
		fill(t, b, 40) // and life goes on
		m := newMover(t, b)
		for n := 0; n < 40; {
			k, err := m.move(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
		if moved := judge(t, b); moved != 80 {
			t.Errorf("%d records moved, want 80", moved)
		}
		m.sess.Close()
		_ = b.Close()
	}
}

// overwrite replaces a file by the first part of another.
func overwrite(t testing.TB, from, to string, part float64) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	keep := len(old) + int(float64(len(raw)-len(old))*part)
	if err := os.WriteFile(to, raw[:keep], 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStaleJournalDoesNothing: the commit in the journal was done long ago, and its producer has another transaction open.
func TestStaleJournalDoesNothing(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Config{DataDir: dir, Topics: topics(crashParts)})
	cl := client(t, b, kgo.TransactionalID("a"))
	for i, v := range []string{"committed", "open"} {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
				t.Fatal(err)
			}
		}
	}
	b = start(t, Config{DataDir: copyDir(t, dir), Topics: topics(crashParts)})
	if got := fmt.Sprint(committed(t, b, "in")[0]); got != "[committed]" {
		t.Errorf("committed: %s", got)
	}
	again := client(t, b, kgo.TransactionalID("a")) // the same producer id: what it commits now is no part of what was aborted
	_ = again.BeginTransaction()
	if err := again.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte("later")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := again.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(committed(t, b, "in")[0]); got != "[committed later]" {
		t.Errorf("committed: %s", got)
	}
}

// TestBatchWithoutIndex: a kill between the two writes of a batch must not make an open transaction's record readable.
func TestBatchWithoutIndex(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Config{DataDir: dir, Topics: topics(crashParts)})
	if err := client(t, b).ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte("first")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	idx := filepath.Join("kafka", "partitions", "in-0", "0.idx")
	was, err := os.ReadFile(filepath.Join(dir, idx))
	if err != nil {
		t.Fatal(err)
	}
	cl := client(t, b, kgo.TransactionalID("a"))
	_ = cl.BeginTransaction()
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	cut := copyDir(t, dir)
	if err := os.WriteFile(filepath.Join(cut, idx), was, 0o600); err != nil {
		t.Fatal(err)
	}
	b = start(t, Config{DataDir: cut, Topics: topics(crashParts)})
	if got := fmt.Sprint(committed(t, b, "in")[0]); got != "[first]" {
		t.Errorf("committed: %s", got)
	}
}

// TestKilledBroker kills a process with a broker and a busy session in it, again and again, in one directory.
func TestKilledBroker(t *testing.T) {
	dir := t.TempDir()
	moved, finished := 0, 0
	for round := range 6 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBrokerToKill$")
		cmd.Env = append(os.Environ(), "BROKER_DIR="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 10 + rand.IntN(150); n > 0 && lines.Scan(); n-- { // one line per transaction
		}
		timer := time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		for lines.Scan() {
		}
		_ = cmd.Wait()
		timer.Stop()
		said := &mark{text: "commit_finished"}
		b := start(t, Config{DataDir: dir, Topics: topics(crashParts), Log: zerolog.New(said)})
		n := judge(t, b)
		if n < moved || t.Failed() {
			t.Fatalf("round %d: %d moved after %d", round, n, moved)
		}
		moved, finished = n, finished+said.n
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if moved == 0 {
		t.Fatal("nothing was moved: the test is empty")
	}
	t.Logf("%d records moved; %d commits were cut off and finished", moved, finished)
}

// TestBrokerToKill is the process of TestKilledBroker.
func TestBrokerToKill(t *testing.T) {
	dir := os.Getenv("BROKER_DIR")
	if dir == "" {
		t.Skip("only as a process of its own")
	}
	b := start(t, Config{DataDir: dir, Topics: topics(crashParts), Interval: 20 * time.Millisecond})
	m := newMover(t, b)
	for left := 0; ; {
		if left < 1000 {
			fill(t, b, 1000)
			left += 1000
		}
		n, err := m.move(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		left -= n
		_, _ = fmt.Fprintln(os.Stdout, n)
	}
}

// mark counts the log lines with a text.
type mark struct {
	text string
	n    int
}

func (m *mark) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(m.text)) {
		m.n++
	}
	return len(line), nil
}
