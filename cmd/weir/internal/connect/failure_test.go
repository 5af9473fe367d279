package connect

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcounter"
)

// The errors of a node have exit codes and remedies. A wrong topic of any role names the role's
// group.
func TestNodeFailure(t *testing.T) {
	type failure struct {
		err  error
		code int
		want string
	}
	cases := map[string]failure{
		"settings": {&node.ConfigError{What: "cannot read x", Err: errors.New("none"), Do: "check x"}, 78, "check x"},
		"timeout":  {&node.StopTimeoutError{After: time.Second}, 1, "processor.shutdown_timeout"},
	}
	for _, r := range node.Roles() {
		for name, f := range map[string]failure{
			"topics":               {fmt.Errorf("%w: 4 partitions", processors.ErrTopics), 69, "--for " + r.Group.Name},
			"repartition":          {fmt.Errorf("%w: 4 partitions", processors.ErrTopics), 69, r.Group.Repartition},
			"full disk":            {fmt.Errorf("%w: %w", processors.ErrDiskFull, syscall.ENOSPC), 74, "free space there"},
			"bad disk":             {fmt.Errorf("%w: damaged 3 times", processors.ErrDisk), 74, "on a disk that works"},
			"lock":                 {fmt.Errorf("%w: by 7", processors.ErrLocked), 73, "another data_dir"},
			"newer":                {fmt.Errorf("%w: format 9", processors.ErrNewer), 78, "newer version"},
			"foreign":              {fmt.Errorf("%w: x", processors.ErrForeign), 78, "each application needs its own"},
			"partly moved":         {fmt.Errorf("%w: partition 1", processors.ErrPartlyMoved), 78, "run `weir repartition` again"},
			"moved away":           {fmt.Errorf("%w: partition 1 to spendcounter.g2", processors.ErrMovedAway), 78, "weir repartition --undo"},
			"not moved":            {fmt.Errorf("%w: x is empty", processors.ErrNotMoved), 78, "weir repartition"},
			"transactions":         {fmt.Errorf("%w: version 1", processors.ErrTransactions), 69, "transaction.version=2"},
			"sums":                 {fmt.Errorf("7 micros more: %w", spendcounter.ErrInconsistent), 1, "weir replay"},
			"regions":              {fmt.Errorf("%w: eu", bridge.ErrRegionOrder), 78, "leases.regions"},
			"instance":             {fmt.Errorf("%w: a", kafka.ErrInstance), 78, "--instance"},
			"broker's certificate": {fmt.Errorf("dial: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), 69, "kafka.tls.ca_file"},
			"client's certificate": {fmt.Errorf("read: %w", &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}), 77, "kafka.tls.cert_file"},
			"other":                {errors.New("broken"), 1, "weir doctor"},
		} {
			cases[r.Name+" "+name] = failure{&node.RoleError{Role: r, Err: f.err}, f.code, f.want}
		}
	}
	for name, tc := range cases {
		f := cli.Explain(NodeFailure(fmt.Errorf("wrapped: %w", tc.err)))
		if f.Code != tc.code || !strings.Contains(f.Do, tc.want) {
			t.Errorf("%s: code %d, want %d; do: %s", name, f.Code, tc.code, f.Do)
		}
	}
	if err := errors.New("another"); !errors.Is(NodeFailure(err), err) || NodeFailure(nil) != nil || RunFailure(nil) != nil {
		t.Error("an error that is not of a node is changed")
	}
	if f := cli.Explain(RunFailure(processors.ErrTopics)); f.Code != 69 || !strings.Contains(f.Do, "weir repartition") {
		t.Errorf("offline: code %d, do: %s", f.Code, f.Do)
	}
}

// The errors of kafkaadmin have remedies. Other errors keep the exit code of the caller.
func TestTopicFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		code int
		want string
	}{
		"conflict":   {TopicFailure(69, "x", fmt.Errorf("%w: t", kafkaadmin.ErrConflict)), 1, "weir repartition"},
		"unknown":    {TopicFailure(0, "x", fmt.Errorf("%w: t", kafkaadmin.ErrUnknownTopic)), 69, "weir topics plan"},
		"brokers":    {TopicFailure(0, "x", fmt.Errorf("%w: 3", kafkaadmin.ErrReplication)), 1, "topics.replication_factor"},
		"id":         {DeadLetterFailure("x", fmt.Errorf("%w: t", kafkaadmin.ErrTransactionalID)), 1, "weir doctor"},
		"other":      {TopicFailure(69, "x", errors.New("broken")), 69, "--brokers"},
		"taken over": {DeadLetterFailure("x", fmt.Errorf("%w: by b", kafkaadmin.ErrTakenOver)), 1, "weir dlq list"},
		"dead":       {DeadLetterFailure("x", errors.New("broken")), 1, "repeat the command"},
	} {
		if f := cli.Explain(tc.err); f.Code != tc.code || f.What != "x" || !strings.Contains(f.Do, tc.want) {
			t.Errorf("%s: code %d, want %d; do: %s", name, f.Code, tc.code, f.Do)
		}
	}
	if TopicFailure(69, "x", nil) != nil || DeadLetterFailure("x", nil) != nil {
		t.Error("nil becomes an error")
	}
}

// Each remedy of the lease table names a command, a setting or an argument, and is found by its
// sentinel.
func TestLeaseFailure(t *testing.T) {
	for _, r := range leaseRemedies() {
		f := cli.Explain(LeaseFailure("x", fmt.Errorf("wrapped: %w", r.err)))
		if f.Code != r.code || f.What != "x" || f.Do != r.do {
			t.Errorf("%v: code %d, do: %s; want %d, %s", r.err, f.Code, f.Do, r.code, r.do)
		}
	}
	if LeaseFailure("x", nil) != nil {
		t.Error("nil becomes an error")
	}
}
