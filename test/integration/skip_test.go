package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/kafka"
)

// TestSkip stops two partitions of a living process: one by a batch that decompresses to more than
// the clients accept, one by the deletion of unread records. doctor prints the commands that skip
// them, and the process continues without a restart.
func TestSkip(t *testing.T) {
	c := shared(t)
	in := newInstance(c, "a")
	p := in.start()
	addr, _ := p.ready()
	startLoad(c, 21, 5_000, 2_000).finish()
	topic := c.topics()[0].Name
	ends, err := c.ends(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(100<<20), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	send := func(partition int32, value []byte) {
		t.Helper()
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: partition, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	send(5, make([]byte, kafka.MaxBatchBytes))
	skip := func(want string) {
		t.Helper()
		command := ""
		for end := time.Now().Add(30 * time.Second); command == "" && time.Now().Before(end); pass(t, 500*time.Millisecond) {
			r := weir(t, "doctor", "-f", in.config)
			if _, after, found := strings.Cut(r.stdout, "do: `weir "); found && r.code == 1 {
				command, _, _ = strings.Cut(after, "`")
			}
		}
		if !strings.HasPrefix(command, "partition skip "+want) {
			t.Fatalf("doctor prints %q, want %q", command, want)
		}
		args := append(strings.Fields(command), "-f", in.config, "-o", "json")
		if r := weir(t, args...); r.code != 0 || !strings.Contains(r.stderr, "repeat the command") {
			t.Fatalf("%q: %+v", args, r)
		}
		began := time.Now()
		if r := weir(t, append(args, "--why", "a test", "--yes")...); r.code != 0 {
			t.Fatalf("%q: %+v", args, r)
		}
		t.Logf("%s: carried out in %s", command, time.Since(began).Round(time.Millisecond))
	}
	skip(topic + "/5 --to ")
	send(5, []byte("behind the batch")) // rejected, and so counted
	p.folds(addr, 24)

	testlimit.Within(t, "the process has committed all of partition 6", func(context.Context) error {
		var rows []struct {
			Partition int32
			Committed int64
			Topic     string
		}
		answer(t, &rows, "lag", "-f", in.config) //nolint:contextcheck // it uses the test's context
		for _, row := range rows {
			if row.Topic == topic && row.Partition == 6 && row.Committed != ends[6] {
				return fmt.Errorf("it has committed offset %d of %d", row.Committed, ends[6])
			}
		}
		return nil
	})

	// Records are deleted while the process is stopped.
	p.kill()
	for range 4 {
		send(6, []byte("deleted"))
	}
	if _, err := c.adm.DeleteRecords(t.Context(), kadm.Offsets{topic: {6: {Topic: topic, Partition: 6, At: ends[6] + 3}}}); err != nil {
		t.Fatal(err)
	}
	p = in.start()
	skip(topic + "/6 --to ")
	addr, _ = p.ready()
	p.folds(addr, 24)
	if r := weir(t, "doctor", "-f", in.config); !strings.Contains(r.stdout, "partition 5 does not have") || !strings.Contains(r.stdout, "partition 6 does not have") {
		t.Errorf("doctor does not list what was skipped:\n%s", r.stdout)
	}
	var rows []struct {
		Partition int32
		Skipped   int64
		Topic     string
	}
	r := weir(t, "lag", "-f", in.config, "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil {
		t.Fatal(err, r.stdout)
	}
	skipped := map[int32]int64{}
	for _, row := range rows {
		if row.Topic == topic && row.Skipped > 0 {
			skipped[row.Partition] = row.Skipped
		}
	}
	if len(skipped) != 2 || skipped[5] != 1 || skipped[6] != 3 {
		t.Errorf("lag shows as skipped: %v", skipped)
	}
}
