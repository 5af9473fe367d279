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

// copyDir copies the directory of a running broker, as a kill at this moment would leave it.
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

// mover is a transactional session that moves numbers from topic in to topic log: record i of a
// partition becomes the value i.
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

// move moves the records of one poll in one transaction and returns their number.
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

// checkMoved compares the moved records with the group's offsets: each input below the offset was
// moved exactly once, and no other. It returns the number of moved records.
func checkMoved(t *testing.T, b *Broker) (moved int) {
	t.Helper()
	at := offsets(t, b, "g")
	got := committed(t, b, "log")
	for p := range int32(crashParts) {
		if int64(len(got[p])) != at[p] {
			t.Errorf("partition %d: %d records moved, the group's offset is %d", p, len(got[p]), at[p])
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

// beforeAndAfterCommit returns a copy of a directory just before a commit, with the intent in the
// journal, and a copy after it.
func beforeAndAfterCommit(t *testing.T) (before, after string) {
	t.Helper()
	dir := t.TempDir()
	b := start(t, Config{DataDir: dir, Topics: topics(crashParts)})
	fill(t, b, 40)
	m := newMover(t, b)
	b.cluster.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if r := req.(*kmsg.EndTxnRequest); r.Commit && before == "" {
			before = copyDir(t, dir) // the journal has the intent, and nothing else was written
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
				t.Skip("the first transaction did not move all records") // otherwise the offsets would differ from those in the journal
			}
		}
	}
	return before, after
}

// TestInterruptedCommit kills the broker after each of the writes that end a transaction.
func TestInterruptedCommit(t *testing.T) {
	before, after := beforeAndAfterCommit(t)
	for done := 0; done <= 2*crashParts+3; done++ {
		t.Run(fmt.Sprint(done), func(t *testing.T) {
			t.Parallel() // starting and stopping a broker is waiting
			dir := copyDir(t, before)
			interruptCommit(t, after, dir, done)
			b := start(t, Config{
				DataDir: dir, Topics: topics(crashParts), Log: new(zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)),
			})
			defer func() { _ = b.Close() }()
			if moved := checkMoved(t, b); moved != 40 {
				t.Errorf("after %d writes: %d records moved, want all 40", done, moved)
			}
			if done == crashParts { // once is enough: a new member waits 3 s for others
				moveMore(t, b)
			}
		})
	}
}

// interruptCommit makes the first writes of a commit in dir, in kfake's order: for each partition
// the marker and its index entry, then the offsets, then the producer. after is a directory with
// all of them.
func interruptCommit(t *testing.T, after, dir string, writes int) {
	t.Helper()
	left := writes
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
}

// moveMore moves another 40 records: the broker works after the repair.
func moveMore(t *testing.T, b *Broker) {
	t.Helper()
	fill(t, b, 40)
	m := newMover(t, b)
	defer m.sess.Close()
	for n := 0; n < 40; {
		k, err := m.move(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	if moved := checkMoved(t, b); moved != 80 {
		t.Errorf("%d records moved, want 80", moved)
	}
}

// overwrite appends to the file to a fraction of what the file from has in addition.
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

// TestStaleJournalDoesNothing: the commit in the journal was complete, and its producer has another
// open transaction.
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
	again := client(t, b, kgo.TransactionalID("a")) // the same producer id: its next commit must not belong to the aborted transaction
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

// TestBatchWithoutIndex: a kill between the two writes of a batch must not make a record of an open
// transaction readable.
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

// TestKilledBroker repeatedly kills a process with a broker and a busy session, in one directory.
func TestKilledBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	moved, finished := 0, 0
	for round := range 6 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBrokerToKill$")
		cmd.Env = append(os.Environ(), "WEIR_TEST_BROKER_DIR="+dir)
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
		commits := &lineCounter{text: "commit_finished"}
		b := start(t, Config{DataDir: dir, Topics: topics(crashParts), Log: new(zerolog.New(commits))})
		n := checkMoved(t, b)
		if n < moved || t.Failed() {
			t.Fatalf("round %d: %d records moved, %d in the round before", round, n, moved)
		}
		moved, finished = n, finished+commits.n
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if moved == 0 {
		t.Fatal("no record was moved: the test has checked nothing")
	}
	t.Logf("%d records moved; %d interrupted commits were completed", moved, finished)
}

// TestBrokerToKill runs in the process that TestKilledBroker kills.
func TestBrokerToKill(t *testing.T) {
	dir := os.Getenv("WEIR_TEST_BROKER_DIR")
	if dir == "" {
		t.Skip("runs only as a process of TestKilledBroker")
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

// lineCounter counts the log lines that contain a text.
type lineCounter struct {
	text string
	n    int
}

func (c *lineCounter) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(c.text)) {
		c.n++
	}
	return len(line), nil
}
