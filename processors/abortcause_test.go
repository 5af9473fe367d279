//go:build synctests

package processors_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
)

// logLines keeps the lines of a log. It is safe for concurrent use.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// events returns the events with a name.
func (l *logLines) events(t *testing.T, name string) (list []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if e["message"] == name {
			list = append(list, e)
		}
	}
	return list
}

// TestAbortCause: each step of a commit fails once. The event transaction_aborted has the reason
// and the error, also where the client returns neither.
func TestAbortCause(t *testing.T) {
	for name, c := range map[string]struct {
		request       kmsg.Key
		err           *kerr.Error
		reason, error string
	}{
		"records":     {kmsg.Produce, kerr.InvalidRecord, "produce", "produce to log[0]: INVALID_RECORD"},
		"offsets":     {kmsg.TxnOffsetCommit, kerr.RebalanceInProgress, "coordinator", "the group refused the offsets"},
		"heartbeat":   {kmsg.Heartbeat, kerr.UnknownMemberID, "coordinator", "heartbeat: UNKNOWN_MEMBER_ID"},
		"transaction": {kmsg.EndTxn, kerr.TransactionAbortable, "coordinator", "the transaction coordinator refused the commit: TRANSACTION_ABORTABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := &logLines{}
			log := zerolog.New(lines)
			o := ledgerOptions(1)
			o.Config.Log, o.Config.Workers = &log, 1
			processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
				failed, cfg := false, o.Config
				cfg.SetFailpoint(func(w *processors.Worker, at string) error {
					if at == "flushed" && !failed && w.FoldedRecords() > 0 {
						failed = true
						h.FailRequests(c.request, c.err, 1)
					}
					return nil
				})
				p := h.StartWith("a", cfg, o.Processor)
				h.Produce("in", 0, "k", "1", "2", "3")
				h.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 3 })
				p.Stop()
			})
			aborts := lines.events(t, "transaction_aborted")
			if len(aborts) != 1 {
				t.Fatalf("%d aborts: %v", len(aborts), aborts)
			}
			if got, _ := aborts[0]["error"].(string); aborts[0]["reason"] != c.reason || !strings.HasPrefix(got, c.error) {
				t.Errorf("%v, want reason %s and error %q", aborts[0], c.reason, c.error)
			}
		})
	}
}
