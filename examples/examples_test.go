package examples

import (
	"math/rand/v2"
	"testing"

	"github.com/weirhq/weir/examples/exampletest"
	"github.com/weirhq/weir/processors/devbroker"
)

// startBroker starts a broker without topics until the test ends, and returns its address. Programs
// of RunStreams and RunVisits have topics of the same names.
func startBroker(t *testing.T) string {
	t.Helper()
	broker, err := devbroker.Start(devbroker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	return broker.Kafka().Brokers[0]
}

// TestExamples runs the programs on brokers in this process; test/integration runs them on a real
// one.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts programs")
	}
	dir := exampletest.Build(t)
	exampletest.RunStreams(t, dir, startBroker(t))
	t.Run("visits", func(t *testing.T) {
		exampletest.RunVisits(t, dir, startBroker(t), rand.New(rand.NewPCG(1, 0)))
	})
	t.Run("leaseworker", func(t *testing.T) { exampletest.RunLeaseWorker(t, dir) })
}
