package local

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/offline"
)

// AppConfig configures an application that a runtime of this process runs.
type AppConfig struct {
	Runtime *processors.Runtime
	Kafka   kafka.Cluster
	// Check is that of NewStateReader. Defaults to none.
	Check StateCheck
	// TLS and Roots are those of api.RouterConfig.
	TLS   bool
	Roots *x509.CertPool
}

// NewApp returns the application for api.Config.Apps. Close its State after the server has ended.
func NewApp(c AppConfig) api.App {
	name := c.Runtime.App()
	return api.App{
		Name: name, Instance: c.Runtime.Instance(), Tasks: tasks{c.Runtime}, Savepoints: savepoints{c.Runtime},
		DeadLetters: newDeadLetters(c.Kafka, c.Runtime.Processor().DLQ),
		State: api.NewRouter(
			api.RouterConfig{
				State: NewStateReader(c.Runtime, c.Check), Peers: Peers{Kafka: c.Kafka, App: name}, TLS: c.TLS, Roots: c.Roots,
			}),
	}
}

// tasks implements api.TaskSource.
type tasks struct{ runtime *processors.Runtime }

// Tasks implements api.TaskSource.
func (t tasks) Tasks(context.Context) ([]*weirpb.Partition, error) {
	var out []*weirpb.Partition
	for _, s := range t.runtime.Status() {
		p := &weirpb.Partition{
			App: s.App, Partition: s.Partition, State: s.State, Reason: cmp.Or(s.Reason, s.Damage), OwnerEpoch: s.OwnerEpoch,
			Sequence:    s.Sequence,
			NextOffsets: maps.Clone(s.Next), Lag: &s.Lag, ChangelogNext: s.ChangelogNext, Instance: t.runtime.Instance(),
		}
		if u := s.Unreadable; u != nil && u.Resume > 0 {
			p.Unreadable = &weirpb.UnreadableInput{Topic: u.Topic, Offset: u.Offset, Next: u.Resume}
		}
		if s.Restore != nil {
			p.Restore = &weirpb.RestoreLeft{Records: s.Restore.Records, Bytes: s.Restore.Bytes, EtaMs: s.Restore.ETA.Milliseconds()}
		}
		for _, r := range s.Skipped {
			p.Skipped = append(p.Skipped,
				&weirpb.SkippedRange{Topic: r.Topic, From: r.From, To: r.To, Who: r.Who, Why: r.Why, AtMs: r.At.UnixMilli()})
		}
		out = append(out, p)
	}
	return out, nil
}

// savepoints implements api.SavepointSource.
type savepoints struct{ runtime *processors.Runtime }

// Savepoint implements api.SavepointSource.
func (s savepoints) Savepoint(ctx context.Context, name string) (*weirpb.CreateSavepointResponse, error) {
	sp, err := offline.TakeSavepoint(ctx, s.runtime, name)
	if errors.Is(err, offline.ErrSavepoint) || errors.Is(err, processors.ErrNotRunning) {
		return nil, fmt.Errorf("%w: %w", api.ErrRefused, err)
	}
	if err != nil {
		return nil, err
	}
	keys, bytes := sp.Size()
	return &weirpb.CreateSavepointResponse{
		App: sp.App, Name: sp.Name, Partitions: int32(len(sp.Partitions)), CreatedMs: sp.Created.UnixMilli(), Keys: keys, Bytes: bytes,
	}, nil
}

// Find is api.Config.Find: it asks the brokers for the processes of app.
func Find(k kafka.Cluster) func(ctx context.Context, app string) ([]api.Peer, error) {
	return func(ctx context.Context, app string) ([]api.Peer, error) { return Peers{Kafka: k, App: app}.Peers(ctx) }
}

var (
	_ api.TaskSource      = tasks{}
	_ api.SavepointSource = savepoints{}
)
