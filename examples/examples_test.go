package examples

import (
	"math/rand/v2"
	"testing"

	"github.com/weirhq/weir/examples/exampletest"
	"github.com/weirhq/weir/processors/devbroker"
)

// TestExamples runs the programs on a broker in this process; test/integration runs them on a real
// one.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts programs")
	}
	dir := exampletest.Build(t)
	broker, err := devbroker.Start(devbroker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	exampletest.RunStreams(t, dir, broker.Kafka().Brokers[0])
	t.Run("visits", func(t *testing.T) {
		exampletest.RunVisits(t, dir, broker.Kafka().Brokers[0], rand.New(rand.NewPCG(1, 0)))
	})
	t.Run("leaseworker", func(t *testing.T) { exampletest.RunLeaseWorker(t, dir) })
}
