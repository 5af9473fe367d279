package kafkaadmin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Severity is the importance of a Check that is not OK.
type Severity string

// Severities.
const (
	Info    Severity = "info"    // for information
	Warning Severity = "warning" // the process works with a weaker guarantee
	Error   Severity = "error"   // the process does not work
)

// Check is one finding of Doctor.
type Check struct {
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	Severity Severity `json:"severity"` // Info if OK
	Detail   string   `json:"detail"`   // the finding
	Remedy   string   `json:"do,omitempty"`
}

// DoctorOptions are the requirements that Doctor checks.
type DoctorOptions struct {
	// Topics and Defaults are the arguments of PlanTopics.
	Topics   []stream.Topic
	Defaults Defaults
	// Apps are the applications whose locks in StateDir are checked. Defaults to none.
	Apps []string
	// DevCluster is the cluster id of the program's own broker for development, whose API versions
	// are those of no release of Kafka. Defaults to none.
	DevCluster string
	// StateDir is processors.Config.Dir. If it is empty, the disk is not checked.
	StateDir string
	// SessionTimeout and TransactionTimeout are those of processors.Config. Default to 6 s and 10
	// s.
	SessionTimeout, TransactionTimeout time.Duration
	// MinFree is the required free space below StateDir, in bytes. Defaults to 1 GiB.
	MinFree uint64
	// MaxSkew is the greatest acceptable difference of clocks. Defaults to 1 s.
	MaxSkew time.Duration
	// Timeout is the timeout of each request to Kafka. Defaults to 5 s.
	Timeout time.Duration
}

func (o *DoctorOptions) setDefaults() {
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{
		{&o.SessionTimeout, 6 * time.Second},
		{&o.TransactionTimeout, 10 * time.Second},
		{&o.MaxSkew, time.Second},
		{&o.Timeout, 5 * time.Second},
	} {
		if *d.p == 0 {
			*d.p = d.v
		}
	}
	o.Defaults.Names.setDefaults()
	if o.MinFree == 0 {
		o.MinFree = 1 << 30
	}
}

// doctor collects checks. Each request has its own timeout, so that one dead broker does not hide
// the other findings.
type doctor struct {
	DoctorOptions
	cl     *kgo.Client
	adm    *kadm.Client
	meta   kadm.Metadata // of the brokers
	checks []Check
}

// BrokersCheck is the name of the check that fails if no broker answers. Then no other check of the
// brokers is made.
const BrokersCheck = "brokers"

// single reports whether the cluster has one broker, as for development. Then one check reports
// missing replicas, not one check for each topic.
func (d *doctor) single() bool { return len(d.meta.Brokers) == 1 }

// Doctor checks what a process needs and what the guarantees depend on. It changes nothing except
// for one file in StateDir, which it creates and removes. Read the checks in order: a failed check
// may cause later ones to fail.
func Doctor(ctx context.Context, k kafka.Cluster, o DoctorOptions) []Check {
	o.setDefaults()
	d := &doctor{DoctorOptions: o}
	cl, err := k.Client(kgo.RetryTimeout(o.Timeout), kgo.DialTimeout(o.Timeout))
	if err != nil {
		d.bad("kafka client", Error, err.Error(), fmt.Sprintf("correct %s and the security settings", o.Defaults.Names.Brokers))
	} else {
		defer cl.Close()
		d.cl, d.adm = cl, kadm.NewClient(cl)
		if d.brokers(ctx, k) {
			d.singleBroker()
			for _, look := range []func(context.Context){d.versions, d.settings, d.topics, d.replication, d.clock} {
				d.within(ctx, look)
			}
		}
	}
	if o.StateDir != "" {
		d.disk()
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

// addCheck adds c as passed if ok, else as failed.
func (d *doctor) addCheck(ok bool, c Check) {
	if c.OK = ok; ok {
		c.Severity, c.Remedy = Info, ""
	}
	d.checks = append(d.checks, c)
}

// brokers sends a request to each broker at its own address. It returns false if none answers.
func (d *doctor) brokers(ctx context.Context, k kafka.Cluster) bool {
	err := k.Reach(ctx)
	if err == nil {
		d.within(ctx, func(ctx context.Context) { d.meta, err = d.adm.BrokerMetadata(ctx) })
	}
	if err != nil {
		d.bad(BrokersCheck, Error, fmt.Sprintf("none of %s answers: %v", strings.Join(k.Brokers, ", "), err),
			fmt.Sprintf("check %s, TLS and SASL, and that the brokers run: a broker that expects TLS closes plain connections",
				d.Defaults.Names.Brokers))
		return false
	}
	for _, b := range d.meta.Brokers {
		name := fmt.Sprintf("broker %d", b.NodeID)
		d.within(ctx, func(ctx context.Context) {
			_, _ = d.ping(ctx, b) // opens the connection
			took, err := d.ping(ctx, b)
			if err != nil {
				d.bad(name, Error, fmt.Sprintf("%s:%d does not answer: %v", b.Host, b.Port, err),
					"the broker advertises this address (advertised.listeners): it must be reachable from this machine")
				return
			}
			d.good(name, "%s:%d answers in %s", b.Host, b.Port, took.Round(10*time.Microsecond))
		})
	}
	return true
}
