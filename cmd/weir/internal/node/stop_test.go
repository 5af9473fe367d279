package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
)

// slowPart is a role that ends when released is closed, like a handler that hangs.
type slowPart struct{ released <-chan struct{} }

// Run implements Part.
func (p slowPart) Run(ctx context.Context) error {
	<-ctx.Done()
	<-p.released
	return nil
}

// Ready implements Part.
func (slowPart) Ready(context.Context) Readiness { return Readiness{Partitions: 1} }

// TestStopInTime: a role that hangs does not hold up the stop of its process for longer than
// processor.shutdown_timeout. A role that ends in time costs no error.
func TestStopInTime(t *testing.T) {
	for name, hangs := range map[string]bool{"in time": false, "hangs": true} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Load(config.Options{Environ: []string{
				"WEIR_DATA_DIR=" + t.TempDir(), "WEIR_API_LISTEN=127.0.0.1:0", "WEIR_API_OPS_LISTEN=127.0.0.1:0", "WEIR_PROCESSOR_SHUTDOWN_TIMEOUT=1s",
			}, Hostname: func() (string, error) { return "host", nil }})
			if err != nil {
				t.Fatal(err)
			}
			released := make(chan struct{})
			slow := spendCounterRole()
			slow.New = func(*Setup) (Part, error) { return slowPart{released}, nil }
			n, err := New(cfg, Config{Kafka: kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}, Log: zerolog.Nop(), Roles: []Role{slow}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended, ready := make(chan error, 1), make(chan struct{})
			go func() { ended <- n.Run(ctx, func() { close(ready) }) }()
			<-ready
			if !hangs {
				close(released)
			}
			began := time.Now()
			stop()
			err = <-ended
			took := time.Since(began)
			var late *StopTimeoutError
			if errors.As(err, &late) != hangs || !hangs && err != nil {
				t.Errorf("the stop ended with %v", err)
			}
			if hangs {
				close(released)
			}
			if hangs && took < time.Second || took > 10*time.Second {
				t.Errorf("the stop took %s", took)
			}
		})
	}
}
