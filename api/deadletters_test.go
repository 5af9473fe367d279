package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/internal/obs"
)

// fakeDeadLetters returns the last of its answers again.
type fakeDeadLetters struct {
	answers []page.Rejected
	reads   int
	err     error
}

func (f *fakeDeadLetters) DeadLetters(context.Context) (page.Rejected, error) {
	f.reads++
	return f.answers[min(f.reads, len(f.answers))-1], f.err
}

// TestDeadLettersMetric: the depth of a dead-letter topic is a metric that is read while it is
// scraped, and not at each scrape. A number that is not known has no series.
func TestDeadLettersMetric(t *testing.T) {
	letters := &fakeDeadLetters{answers: []page.Rejected{
		{Reasons: []page.Reason{{Reason: "unknown_type", Count: 3}, {Reason: "too_old", Count: 4}}},
		{Unread: 30_000},
		{},
	}}
	broken := &fakeDeadLetters{answers: []page.Rejected{{Unread: 5}}, err: errors.New("no topic")}
	served := func() Config {
		cfg := config()
		cfg.Apps[0].DeadLetters = letters
		other := cfg.Apps[0]
		other.Name, other.DeadLetters, other.State = "other", broken, nil
		cfg.Apps = append(cfg.Apps, other)
		return cfg
	}
	if _, found := depths(t, mustNew(t, served()).cfg.Registry)["spendcounter"]; found || letters.reads > 0 {
		t.Errorf("a server that does not run has read the topic %d times", letters.reads)
	}
	bubble(t, served, func(t *testing.T, _ *pipeListener, reg *obs.Registry) {
		for i, want := range []float64{7, 30_000, 0} {
			depths(t, reg) // the first scrape may be too early for the new number
			synctest.Wait()
			got := depths(t, reg)
			if n, found := got["spendcounter"]; !found || n != want {
				t.Errorf("read %d: %v, want %v", i+1, got, want)
			}
			if _, found := got["other"]; found {
				t.Errorf("a number that could not be read is %v", got)
			}
			if letters.reads != i+1 {
				t.Errorf("%d reads for %d intervals", letters.reads, i+1)
			}
			<-time.After(deadLettersEvery + time.Second)
		}
	})
}

// depths returns the series of weir_processor_dead_letters, by application.
func depths(t *testing.T, r *obs.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "weir_processor_dead_letters" {
			continue
		}
		for _, m := range f.GetMetric() {
			all[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
		}
	}
	return all
}
