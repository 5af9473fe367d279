//go:build synctests

package processors_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// TestSilentBroker: with a broker that accepts connections and never answers, Run logs that it
// waits, and ends after ten seconds with a *kafka.NoAnswerError.
func TestSilentBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := zerolog.New(&log)
		k := kafka.Cluster{Brokers: []string{"k1:9092"}, Options: []kgo.Opt{kgo.DisableClientMetrics(), kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			return here, nil
		})}}
		rt, err := processors.New(processors.Config{Kafka: k, Dir: t.TempDir(), Instance: "one", Log: &logger}, tallies())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = rt.Run(t.Context())
		if took := time.Since(began).Round(time.Second); !errors.As(err, new(*kafka.NoAnswerError)) || took != 10*time.Second {
			t.Errorf("ended after %s: %v", took, err)
		}
		if !strings.Contains(log.String(), "brokers_waiting") {
			t.Errorf("no event in %s", log.String())
		}
	})
}
