package stream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/stream"
)

// TestSinkComplete holds the defaults of a sink, and that each wrong field is named.
func TestSinkComplete(t *testing.T) {
	do := func(context.Context, *stream.SinkRecord) error { return nil }
	s := stream.Sink{Group: "g", Topic: "t", Do: do, Concurrency: 5}
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	if s.PerPartition != 5 || s.Pending != 20_000 || s.PendingBytes != 16<<20 || s.RetryMin != 100*time.Millisecond || s.RetryMax != 10*time.Second {
		t.Errorf("the defaults are %+v", s)
	}
	if got := s.Key(&stream.SinkRecord{Key: []byte("k")}); got != "k" {
		t.Errorf("the default key of a record with key k is %q", got)
	}
	for field, s := range map[string]stream.Sink{
		"group":        {Topic: "t", Do: do},
		"topic":        {Group: "g", Topic: "a b", Do: do},
		"Do":           {Group: "g", Topic: "t"},
		"PendingBytes": {Group: "g", Topic: "t", Do: do, PendingBytes: -1},
		"RetryMax":     {Group: "g", Topic: "t", Do: do, RetryMax: -1},
		"Retries":      {Group: "g", Topic: "t", Do: do, Retries: 3},
		"GiveUp":       {Group: "g", Topic: "t", Do: do, GiveUp: func(context.Context, *stream.SinkRecord, error) error { return nil }},
	} {
		if err := s.Complete(); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("a wrong %s: %v", field, err)
		}
	}
}
