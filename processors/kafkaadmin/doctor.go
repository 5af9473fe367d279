package kafkaadmin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Severity says how much a Check that is not OK matters.
type Severity string

// Severities.
const (
	Info    Severity = "info"    // to know
	Warning Severity = "warning" // it works, and a promise is weaker
	Error   Severity = "error"   // it does not work
)

// Check is one finding of Doctor.
type Check struct {
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	Severity Severity `json:"severity"` // of a check that is not OK; Info otherwise
	Detail   string   `json:"detail"`   // what was found
	Remedy   string   `json:"do,omitempty"`
}

// Options say what Doctor holds the cluster and the disk against.
type Options struct {
	// Topics and Defaults are what Plan takes.
	Topics   []events.Topic
	Defaults Defaults
	// Apply is the command that makes the topics good. Defaults to weir topics apply.
	Apply string
	// Processor names the group, transactional ids and topics that ACLs must allow. Without an App nothing is said of them.
	Processor stream.Processor
	// StateDir is processors.Config.Dir. Empty: the disk is not looked at.
	StateDir string
	// SessionTimeout and TransactionTimeout are those of processors.Config. Default to 6 s and 10 s.
	SessionTimeout, TransactionTimeout time.Duration
	// MinFree is the free space wanted below StateDir, in bytes. Defaults to 1 GiB.
	MinFree uint64
	// MaxSkew is how far clocks may be apart. Defaults to 1 s.
	MaxSkew time.Duration
	// Timeout bounds each question to Kafka. Defaults to 5 s.
	Timeout time.Duration
}

func (o *Options) setDefaults() {
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{{&o.SessionTimeout, 6 * time.Second}, {&o.TransactionTimeout, 10 * time.Second}, {&o.MaxSkew, time.Second}, {&o.Timeout, 5 * time.Second}} {
		if *d.p == 0 {
			*d.p = d.v
		}
	}
	if o.Apply == "" {
		o.Apply = "weir topics apply"
	}
	if o.MinFree == 0 {
		o.MinFree = 1 << 30
	}
}

// doctor collects checks. Each question has a time-out of its own, so that one dead broker does not hide the rest.
type doctor struct {
	Options
	cl     *kgo.Client
	adm    *kadm.Client
	checks []Check
}

// Doctor looks at everything that a process needs and that the promises rest on. It changes nothing but one file, which
// it makes and removes in StateDir. The checks are in the order to read them: a later one may fail because of an earlier.
func Doctor(ctx context.Context, k kafka.Cluster, o Options) []Check {
	o.setDefaults()
	d := &doctor{Options: o}
	cl, err := k.Client(kgo.RetryTimeout(o.Timeout), kgo.DialTimeout(o.Timeout))
	if err != nil {
		d.bad("kafka client", Error, err.Error(), "correct kafka.brokers and the security settings; `weir config check` shows them")
	} else {
		defer cl.Close()
		d.cl, d.adm = cl, kadm.NewClient(cl)
		if d.brokers(ctx, k.Brokers) {
			for _, look := range []func(context.Context){d.versions, d.settings, d.topics, d.replication, d.clock} {
				d.within(ctx, look)
			}
		}
	}
	if o.StateDir != "" {
		d.disk()
	}
	if o.Processor.App != "" {
		d.good("acls", "where the cluster checks access, the principal needs:\n"+strings.Join(ACLs(o.Processor), "\n"))
	}
	return d.checks
}

func (d *doctor) within(ctx context.Context, look func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	look(ctx)
}

func (d *doctor) good(name, format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	d.checks = append(d.checks, Check{Name: name, OK: true, Severity: Info, Detail: format})
}

func (d *doctor) bad(name string, s Severity, detail, do string) {
	d.checks = append(d.checks, Check{Name: name, Severity: s, Detail: detail, Remedy: do})
}

// judge is good or bad by ok.
func (d *doctor) judge(ok bool, c Check) {
	if c.OK = ok; ok {
		c.Severity, c.Remedy = Info, ""
	}
	d.checks = append(d.checks, c)
}

// brokers asks each broker by its own address. False: none answers.
func (d *doctor) brokers(ctx context.Context, seeds []string) bool {
	var meta kadm.Metadata
	var err error
	d.within(ctx, func(ctx context.Context) { meta, err = d.adm.BrokerMetadata(ctx) })
	if err != nil {
		d.bad("brokers", Error, fmt.Sprintf("none of %s answers: %v", strings.Join(seeds, ", "), err),
			"check kafka.brokers, that the brokers run, and TLS and SASL: a broker that wants TLS closes plain connections")
		return false
	}
	for _, b := range meta.Brokers {
		name := fmt.Sprintf("broker %d", b.NodeID)
		d.within(ctx, func(ctx context.Context) {
			_, _ = d.ping(ctx, b) // opens the connection
			took, err := d.ping(ctx, b)
			if err != nil {
				d.bad(name, Error, fmt.Sprintf("%s:%d does not answer: %v", b.Host, b.Port, err),
					"the address is what the broker advertises (advertised.listeners): it must be reachable from here")
				return
			}
			d.good(name, "%s:%d answers in %s", b.Host, b.Port, took.Round(10*time.Microsecond))
		})
	}
	return true
}
