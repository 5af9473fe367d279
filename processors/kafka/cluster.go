package kafka

import (
	"crypto/tls"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster holds what every client needs to reach the brokers.
type Cluster struct {
	// Brokers are the addresses of some brokers, host:port. The client finds the others.
	Brokers []string
	// Options are added to every client: TLS, SASL, a dialer.
	Options []kgo.Opt
	// Waiting is called with Brokers if none has answered 3 s after Connect began. Nil: no call.
	Waiting func(brokers []string)

	tls *tls.Config // of WithTLS; nil: none
}

// Client returns a client with the options of the cluster and opts. It connects at its first
// request; see Connect for one of which a broker has answered.
func (k Cluster) Client(opts ...kgo.Opt) (*kgo.Client, error) { return k.client(func() {}, opts...) }

// client is Client. accepted is called when a broker has accepted a connection that is encrypted.
func (k Cluster) client(accepted func(), opts ...kgo.Opt) (*kgo.Client, error) {
	base := []kgo.Opt{kgo.SeedBrokers(k.Brokers...), kgo.ClientID("weir"), kgo.MaxDecompressBatchBytes(MaxBatchBytes)}
	all := slices.Concat(base, k.Options)
	if k.tls != nil {
		all = append(all, kgo.Dialer(dialTLS(k.tls, accepted)))
	}
	return kgo.NewClient(append(all, opts...)...)
}

// Decompressor returns the decompressor of a client of Cluster.Client, for answers that its caller
// decodes. It refuses batches of more than MaxBatchBytes; that of kgo.DefaultDecompressor takes two
// gigabytes for one.
func Decompressor(cl *kgo.Client) kgo.Decompressor {
	d, ok := cl.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
	if !ok || d == nil {
		d = kgo.DefaultDecompressor() // this version of the library does not show its option
	}
	return d
}

// MaxBatchBytes is the size up to which a batch is decompressed.
const MaxBatchBytes = 64 << 20

// ErrInstance means that another process runs under the same instance name.
var ErrInstance = errors.New("instance name is taken")
