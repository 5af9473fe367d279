//go:build synctests

package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// log is an action that records its calls, and fails for some keys.
type log struct {
	mu     sync.Mutex
	done   []string         // keys, in order
	refuse map[string]error // errors by key
	most   int              // the most concurrent calls
	now    int              // concurrent calls
}

func (l *log) do(ctx context.Context, r *stream.SinkRecord) error {
	l.mu.Lock()
	l.now++
	l.most = max(l.most, l.now)
	l.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now--
	if err := l.refuse[string(r.Key)]; err != nil {
		return err
	}
	l.done = append(l.done, string(r.Key))
	return ctx.Err()
}

func (l *log) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.done)
}

func (l *log) forbid(key string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse[key] = err
}

func (l *log) allow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.refuse)
}

func scenario(t *testing.T, f func(t *testing.T, w *sinkRun, l *log)) {
	synctest.Test(t, func(t *testing.T) {
		w := newSinkRun(t, 1, nil)
		defer w.close()
		f(t, w, &log{refuse: map[string]error{}})
	})
}

func status(p *process, n int32) Status {
	for _, s := range p.Status() {
		if s.Partition == n {
			return s
		}
	}
	return Status{}
}

// TestStuckKey holds that a key that fails holds up its own records and no others, until too many
// records wait: then fetching pauses, and resumes when the key succeeds.
func TestStuckKey(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		l.refuse["bad"] = errors.New("the region is down")
		p := w.start("a", func(c *settings) { c.Do, c.Pending = l.do, 20 })
		defer p.stop()
		w.send(0, "bad", "k1", "bad", "k2", "k3")
		w.send(1, "k4")
		time.Sleep(time.Minute)
		s := status(p, 0)
		if l.count() != 4 || s.Pending != 2 || s.Retrying != 1 || s.Err == nil || s.Paused || time.Since(s.Oldest) < 50*time.Second {
			t.Fatalf("%d records are done; %+v", l.count(), s)
		}
		for range 100 {
			w.send(0, "k1")
			w.send(1, "k4")
		}
		time.Sleep(time.Minute)
		if s := status(p, 0); !s.Paused || l.count() >= 4+200 {
			t.Fatalf("%d records are done; %+v", l.count(), s)
		}
		l.allow()
		time.Sleep(time.Minute)
		if s := status(p, 0); l.count() != 206 || !reflect.DeepEqual(s, Status{}) {
			t.Errorf("%d records are done; %+v", l.count(), s)
		}
		if w.behind() != 0 {
			t.Errorf("%d records are not committed", w.behind())
		}
	})
}

// refusal is an error with a longer text for debugging.
type refusal struct{}

func (refusal) Error() string { return "the region is down" }
func (refusal) Raw() string   { return "operation error, StatusCode: 0" }

// TestFailuresInFewLines holds that a long outage is logged when it begins, once a minute and when
// it is over, that a short one is not logged, and that the raw error is logged for debugging only.
func TestFailuresInFewLines(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		var lines bytes.Buffer
		logger := zerolog.New(zerolog.SyncWriter(&lines)).Level(zerolog.WarnLevel)
		p := w.start("a", func(c *settings) { c.Do, c.Log = l.do, &logger })
		for i := range 100 {
			key := fmt.Sprint("bad", i)
			l.forbid(key, refusal{})
			w.send(int32(i%parts), key)
		}
		time.Sleep(150 * time.Second)
		w.send(0, "k")
		l.allow()
		time.Sleep(time.Minute)
		l.forbid("bad", refusal{})
		w.send(1, "bad")
		time.Sleep(time.Second)
		l.allow()
		time.Sleep(time.Minute)
		p.stop()
		var logged []string
		for _, line := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
			var e struct {
				Message, Error    string
				Failures, Waiting int
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			logged = append(logged, e.Message)
			if over := e.Message == "sink_recovered"; over && e.Waiting > 0 || !over && (e.Error != "the region is down" || e.Waiting != 100) || strings.Contains(line, "StatusCode") {
				t.Error(line)
			}
		}
		if want := "[sink_failed sink_still_failing sink_still_failing sink_recovered]"; fmt.Sprint(logged) != want {
			t.Errorf("logged %v, want %v", logged, want)
		}
	})
}

// TestOutOfRange holds that records which retention deleted before they were read stop their
// partition, and no other.
func TestOutOfRange(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		w.send(0, "a", "b", "c", "d")
		w.send(1, "e")
		first := w.start("a", func(c *settings) { c.Do = l.do })
		time.Sleep(time.Minute)
		first.stop()
		w.send(0, "f", "g", "h")
		if err := w.c.DeleteRecords(topic, 0, 6); err != nil {
			t.Fatal(err)
		}
		second := w.start("a", func(c *settings) { c.Do = l.do })
		defer second.stop()
		w.send(1, "i")
		time.Sleep(time.Minute)
		var unreadable *kafka.UnreadableError
		if s := status(second, 0); !errors.As(s.Stopped, &unreadable) || unreadable.Offset != 4 || unreadable.Lost != 2 {
			t.Errorf("%+v, %v", s, s.Stopped)
		}
		if s := status(second, 1); s.Stopped != nil || l.count() != 6 {
			t.Errorf("%d records are done; %+v", l.count(), s)
		}
	})
}

// TestSkip holds that Sink.SkipTrimmed continues with the records that are left.
func TestSkip(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		w.send(0, "a", "b", "c", "d")
		first := w.start("a", func(c *settings) { c.Do = l.do })
		time.Sleep(time.Minute)
		first.stop()
		w.send(0, "f", "g", "h")
		if err := w.c.DeleteRecords(topic, 0, 6); err != nil {
			t.Fatal(err)
		}
		second := w.start("a", func(c *settings) { c.Do, c.SkipTrimmed = l.do, true })
		w.send(0, "i")
		time.Sleep(time.Minute)
		if s := status(second, 0); s.Stopped != nil || s.Pending != 0 || l.count() != 6 {
			t.Errorf("%d records are done, want a to d, h and i; %+v", l.count(), s)
		}
		second.stop()
		if w.behind() != 0 {
			t.Errorf("%d records are not committed", w.behind())
		}
	})
}

// TestConcurrencyAndStop holds that Sink.Concurrency bounds the calls, and that a stop waits for
// the calls under way.
func TestConcurrencyAndStop(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		p := w.start("a", func(c *settings) {
			c.Do, c.Concurrency, c.Key = l.do, 3, func(r *stream.SinkRecord) string { return string(rune(r.Offset)) }
		})
		for range 40 {
			w.send(0, "x")
			w.send(1, "x")
		}
		for l.count() < 30 {
			time.Sleep(time.Millisecond)
		}
		p.stop()
		if l.most != 3 || p.err != nil {
			t.Errorf("%d concurrent calls, %v", l.most, p.err)
		}
		if n := w.behind(); n != 80-int64(l.count()) {
			t.Errorf("%d records are done, and %d not committed", l.count(), n)
		}
	})
}

// TestGrace holds that a call that does not end is cancelled after Config.Grace, and that its
// record is not committed.
func TestGrace(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, _ *log) {
		p := w.start("a", func(c *settings) {
			c.Do = func(ctx context.Context, r *stream.SinkRecord) error {
				if string(r.Key) == "slow" {
					<-ctx.Done()
					return nil // too late
				}
				return nil
			}
		})
		w.send(0, "k", "slow", "k")
		time.Sleep(10 * time.Second)
		begun := time.Now()
		p.stop()
		if took := time.Since(begun); took < 3*time.Second || took > 5*time.Second {
			t.Errorf("the stop took %v", took)
		}
		if n := w.behind(); n != 2 {
			t.Errorf("%d records are not committed, 2 are not done in order", n)
		}
	})
}

// TestInstanceTaken holds that a second process with the same instance name ends the first one,
// with ErrInstance.
func TestInstanceTaken(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		first := w.start("a", func(c *settings) { c.Do = l.do })
		time.Sleep(10 * time.Second)
		second := w.start("a", func(c *settings) { c.Do = l.do })
		time.Sleep(time.Minute)
		w.send(0, "k")
		time.Sleep(time.Minute)
		second.stop()
		first.stop()
		if !errors.Is(first.err, kafka.ErrInstance) || l.count() != 1 {
			t.Errorf("%v; %d records are done", first.err, l.count())
		}
	})
}

// TestGiveUp holds that a record is given up after the calls that the sink allows, with the last
// error, and that the records of its key continue.
func TestGiveUp(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		l.refuse["bad"] = errors.New("the key is refused")
		var given []string
		calls := 0
		p := w.start("a", func(c *settings) {
			c.Retries = 3
			c.Do = func(ctx context.Context, r *stream.SinkRecord) error {
				if string(r.Key) == "bad" {
					calls++
				}
				return l.do(ctx, r)
			}
			c.GiveUp = func(_ context.Context, r *stream.SinkRecord, last error) error {
				given = append(given, fmt.Sprintf("%s[%d]@%d attempt %d: %v", r.Topic, r.Partition, r.Offset, r.Attempt, last))
				if len(given) == 1 {
					return errors.New("the other place is away, too")
				}
				l.allow()
				return nil
			}
		})
		defer p.stop()
		w.send(0, "bad", "good", "bad")
		time.Sleep(time.Minute)
		want := []string{topic + "[0]@0 attempt 4: the key is refused", topic + "[0]@0 attempt 4: the key is refused"}
		if !slices.Equal(given, want) || calls != 5 || l.count() != 2 || w.behind() != 0 {
			t.Errorf("given up: %q, %d calls, %d records are done, %d are not committed", given, calls, l.count(), w.behind())
		}
	})
}

// TestGiveUpIsLogged holds that a record that is given up is in the log and in the status. It does
// not count as a recovery: the next success does.
func TestGiveUpIsLogged(t *testing.T) {
	scenario(t, func(t *testing.T, w *sinkRun, l *log) {
		l.refuse["bad"] = errors.New("the key is refused")
		var lines bytes.Buffer
		p := w.start("a", func(c *settings) {
			events := zerolog.New(zerolog.SyncWriter(&lines))
			c.Log, c.Do, c.Retries = &events, l.do, 8 // for more than two seconds
			c.GiveUp = func(context.Context, *stream.SinkRecord, error) error { return nil }
		})
		defer p.stop()
		events := func() (list []string) {
			synctest.Wait()
			for line := range strings.Lines(lines.String()) {
				if _, name, ok := strings.Cut(line, `"message":"sink_`); ok {
					list = append(list, strings.TrimSuffix(strings.TrimSpace(name), `"}`))
				}
			}
			return list
		}
		w.send(0, "bad")
		time.Sleep(time.Minute)
		if got, want := events(), []string{"failed", "gave_up"}; !slices.Equal(got, want) || !strings.Contains(lines.String(), `"error":"the key is refused"`) {
			t.Errorf("events %q, want %q; log:\n%s", got, want, lines.String())
		}
		if s := p.Status(); len(s) == 0 || s[0].GivenUp != 1 || s[0].Retrying != 0 || s[0].Err != nil {
			t.Errorf("status %+v", s)
		}
		w.send(0, "good")
		time.Sleep(time.Second)
		if got, want := events(), []string{"failed", "gave_up", "recovered"}; !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	})
}

// TestWholeRecord holds that a sink gets the topic, the headers and the time of a record.
func TestWholeRecord(t *testing.T) {
	r := sinkRecord(&kgo.Record{Topic: "t", Partition: 1, Offset: 2, Key: []byte("k"), Value: []byte("v"), Timestamp: time.UnixMilli(77), Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("b")}}})
	want := stream.SinkRecord{Topic: "t", Partition: 1, Offset: 2, Key: []byte("k"), Value: []byte("v"), TimeMs: 77, Headers: []stream.Header{{Key: "a", Value: []byte("b")}}}
	if !reflect.DeepEqual(r, want) || !r.Time().Equal(time.UnixMilli(77)) {
		t.Errorf("%+v, want %+v", r, want)
	}
}
