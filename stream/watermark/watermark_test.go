package watermark

import (
	"testing"
	"time"
)

func TestWatermark(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	type step struct {
		topic    string        // "" only lets time pass
		ms       int64         // time of the record
		after    time.Duration // since start
		advanced bool
		want     int64
	}
	for name, x := range map[string]struct {
		config Config
		inputs []string
		steps  []step
	}{
		"one input advances in grains": {Config{Grain: time.Second}, []string{"a"}, []step{
			{"a", 900, 0, false, 0}, {"a", 1900, 0, true, 1000}, {"a", 1950, 0, false, 1000}, {"a", 5001, 0, true, 5000},
		}},
		"an old record changes nothing": {Config{Grain: time.Second}, []string{"a"}, []step{
			{"a", 5000, 0, true, 5000}, {"a", 1000, 0, false, 5000}, {"a", 6000, 0, true, 6000},
		}},
		"lateness holds the watermark back": {Config{Grain: time.Second, Lateness: 2 * time.Second}, []string{"a"}, []step{
			{"a", 2500, 0, false, 0}, {"a", 3000, 0, true, 1000},
		}},
		"the slower input decides": {Config{Grain: time.Second, Idle: time.Minute}, []string{"a", "b"}, []step{
			{"a", 9000, 0, false, 0}, {"b", 4000, 0, true, 4000}, {"b", 12000, 0, true, 9000},
		}},
		"an idle input does not": {Config{Grain: time.Second, Idle: 5 * time.Second}, []string{"a", "b"}, []step{
			{"a", 9000, 4 * time.Second, false, 0},
			{"", 0, 5 * time.Second, false, 0},
			{"", 0, 5001 * time.Millisecond, true, 9000},
			{"b", 1000, 6 * time.Second, false, 9000},
			{"", 0, time.Hour, false, 9000},
		}},
		"one input alone is never idle": {Config{Grain: time.Second, Idle: 5 * time.Second}, []string{"a"}, []step{
			{"a", 9000, time.Hour, true, 9000},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(x.config, x.inputs, 0, start)
			for i, s := range x.steps {
				now := start.Add(s.after)
				advanced := s.topic == ""
				if s.topic != "" {
					w.Active(s.topic, now)
					advanced = w.Observe(s.topic, s.ms)
				}
				if advanced = advanced && w.Advance(now); advanced != s.advanced || w.Ms() != s.want {
					t.Fatalf("step %d: advanced %t to %d, want %t, %d", i, advanced, w.Ms(), s.advanced, s.want)
				}
			}
		})
	}
}
