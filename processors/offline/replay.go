package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Replay is a processor under another application id: the same handler and inputs, with a group,
// transactional ids, topics and a store of its own. Until it is promoted it writes to nothing that
// the live processor reads or writes.
//
//	Prepare   create the topics; begin at the inputs' beginning, an offset, a time or a savepoint
//	   ▼
//	Run       fold up to given offsets, and no record more
//	   ▼
//	Compare   by hash, with a savepoint of the live processor at these offsets
//	   ▼
//	Promote   write the difference to the live changelog
//	   ▼
//	Drop      remove the topics, the group and the store of the replay
type Replay struct {
	cfg   processors.Config
	live  stream.Processor
	proc  stream.Processor
	state replayState
}

// replayState is the content of the replay's file. If the file exists, then the topics, the group
// and the directory of that name belong to the replay.
type replayState struct {
	Format  int       `json:"format"`
	App     string    `json:"app"`
	Live    string    `json:"live"`
	From    string    `json:"from"` // ReplayStart.String: a second Prepare must be called with the same
	Created time.Time `json:"created"`
	Start   Positions `json:"start"` // the first offsets
	Ready   bool      `json:"ready"` // false: Prepare was interrupted
}

const replayFormat = 1

var (
	// ErrReplay reports a replay that does not exist, is not prepared, or has a name that is taken.
	ErrReplay = errors.New("cannot use the replay")
	// ErrTrimmed reports that the inputs do not have all records that the replay needs.
	ErrTrimmed = errors.New("the inputs do not have all records that the replay needs")
)

// NewReplay describes the replay of live with application id app. It starts nothing. Its topics
// have the names of live's topics, preceded by app and a dot.
func NewReplay(cfg processors.Config, live stream.Processor, app string) (*Replay, error) {
	if err := live.Complete(); err != nil {
		return nil, err
	}
	cfg.Standbys = 0 // a replay runs in one process
	cfg.SetDefaults()
	s := &Replay{cfg: cfg, live: live, proc: live}
	s.proc.App, s.proc.Changelog, s.proc.DLQ, s.proc.Outputs = app, app+"."+live.Changelog, app+"."+live.DLQ, nil
	for _, o := range live.Outputs {
		o.Topic = app + "." + o.Topic // handlers use the name of the output, which stays
		s.proc.Outputs = append(s.proc.Outputs, o)
	}
	if err := s.proc.Complete(); err != nil {
		return nil, err
	}
	if app == live.App {
		return nil, fmt.Errorf("%w: %q is the application id of the live processor: choose another name", ErrReplay, app)
	}
	taken := append(slices.Clone(live.Inputs), live.WrittenTopics()...)
	for _, topic := range s.proc.WrittenTopics() {
		if slices.Contains(taken, topic) {
			return nil, fmt.Errorf("%w: topic %s of replay %q is a topic of the live processor: choose another name", ErrReplay, topic, app)
		}
	}
	return s, nil
}

// Processor returns the processor of the replay: with its application id and topics.
func (s *Replay) Processor() stream.Processor { return s.proc }

func (s *Replay) dir() string { return path.Join(s.cfg.Dir, s.proc.App) }

// file returns the name of the state file. Its name is older than the term replay.
func (s *Replay) file() string { return path.Join(s.dir(), "shadow.json") }

// load reads the state file. It returns false if the file does not exist.
func (s *Replay) load() (bool, error) {
	if _, err := s.cfg.FS.Stat(s.file()); err != nil {
		return false, nil //nolint:nilerr // there is no replay
	}
	f, err := s.cfg.FS.Open(s.file())
	if err != nil {
		return false, fmt.Errorf("read %s: %w", s.file(), err)
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = json.Unmarshal(text, &s.state)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("read %s: %w", s.file(), err)
	case s.state.Format > replayFormat:
		return false, fmt.Errorf("%w: %s has format %d, this binary reads up to %d: run the newer binary", processors.ErrNewer, s.file(),
			s.state.Format, replayFormat)
	case s.state.App != s.proc.App || s.state.Live != s.live.App:
		return false, fmt.Errorf("%w: %s belongs to %q, a replay of %q: choose another name", ErrReplay, s.file(), s.state.App,
			s.state.Live)
	}
	return true, nil
}

func (s *Replay) save() error {
	text, err := json.MarshalIndent(&s.state, "", " ")
	if err == nil {
		err = errors.Join(s.cfg.FS.MkdirAll(s.dir(), 0o700), writeFile(s.cfg.FS, s.file()+".new", append(text, '\n')))
	}
	if err == nil {
		err = s.cfg.FS.Rename(s.file()+".new", s.file())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.file(), err)
	}
	return syncDir(s.cfg.FS, s.dir())
}

// ready returns ErrReplay unless Prepare has succeeded.
func (s *Replay) ready() error {
	ok, err := s.load()
	if err == nil && (!ok || !s.state.Ready) {
		err = fmt.Errorf("%w: %s of %s was not begun in %s, or its beginning was interrupted: begin it first", ErrReplay, s.proc.App,
			s.live.App, s.cfg.Dir)
	}
	return err
}

// createTopics creates the topics of the replay with the partitions, replicas and settings of the
// live topics.
func (s *Replay) createTopics(ctx context.Context, adm *kadm.Client) error {
	was, as := s.live.WrittenTopics(), s.proc.WrittenTopics()
	list, err := adm.ListTopics(ctx, was...)
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	configs, err := adm.DescribeTopicConfigs(ctx, was...)
	if err != nil {
		return fmt.Errorf("read the settings of topics: %w", err)
	}
	for i, topic := range was {
		like := list[topic]
		if like.Err != nil {
			return fmt.Errorf("%w: topic %s: %w", processors.ErrTopics, topic, like.Err)
		}
		settings := map[string]*string{}
		config, err := configs.On(topic, nil)
		if err = errors.Join(err, config.Err); err != nil {
			return fmt.Errorf("read the settings of topic %s: %w", topic, err)
		}
		for _, c := range config.Configs {
			if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
				settings[c.Key] = c.Value
			}
		}
		got, err := adm.CreateTopics(ctx, int32(len(like.Partitions)), int16(like.Partitions.NumReplicas()), settings, as[i])
		if err == nil {
			err = got.Error()
		}
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) { // created by an earlier try of this request
			return fmt.Errorf("create topic %s: %w", as[i], err)
		}
	}
	_, err = topics.Await(ctx, &s.proc, adm)
	return err
}

// Names returns the names of the replays of the live processor in the state directory, sorted.
func (s *Replay) Names() (names []string, err error) {
	if _, err := s.cfg.FS.Stat(s.cfg.Dir); err != nil {
		return nil, nil //nolint:nilerr // nothing has run there
	}
	apps, err := s.cfg.FS.List(s.cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.cfg.Dir, err)
	}
	for _, app := range apps {
		other := *s
		other.proc.App = app
		if there, err := other.load(); there && err == nil { // what cannot be read is not one that can be used
			names = append(names, app)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Drop removes the topics, the group and the directory of the replay. It returns whether there was
// one.
func (s *Replay) Drop(ctx context.Context) (there bool, err error) {
	if there, err = s.load(); err != nil || !there {
		return false, err
	}
	return true, s.drop(ctx)
}

// drop is Drop for a replay that exists.
func (s *Replay) drop(ctx context.Context) error {
	lock, err := store.LockDir(s.cfg.FS, s.dir(), s.cfg.Instance)
	if err != nil {
		return err
	}
	cl, err := s.cfg.Kafka.Connect(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("connect to the brokers: %w", err), lock.Close())
	}
	defer cl.Close()
	err = errors.Join(s.dropKafka(ctx, kadm.NewClient(cl)), lock.Close())
	if err != nil {
		return err
	}
	if err := s.cfg.FS.RemoveAll(s.dir()); err != nil { // the last step: if it fails, the next Drop finds the state file
		return fmt.Errorf("remove %s: %w", s.dir(), err)
	}
	return nil
}

func (s *Replay) dropKafka(ctx context.Context, adm *kadm.Client) error {
	if err := ensureGroupEmpty(ctx, adm, s.proc.App); err != nil {
		return err
	}
	deleted, err := adm.DeleteTopics(ctx, s.proc.WrittenTopics()...)
	if err != nil {
		return fmt.Errorf("delete the topics of %s: %w", s.proc.App, err)
	}
	for _, t := range deleted {
		if t.Err != nil && !errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("delete topic %s: %w", t.Topic, t.Err)
		}
	}
	for gone := false; !gone && ctx.Err() == nil; pause.For(ctx, 100*time.Millisecond) { // some brokers learn of the deletion later
		list, err := adm.ListTopics(kafka.Uncached(ctx), s.proc.WrittenTopics()...)
		if err != nil {
			return fmt.Errorf("read topics: %w", err)
		}
		gone = true
		for _, t := range list {
			gone = gone && errors.Is(t.Err, kerr.UnknownTopicOrPartition)
		}
	}
	group, err := adm.DeleteGroup(ctx, s.proc.App)
	if err = errors.Join(err, group.Err); err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return fmt.Errorf("delete group %s: %w", s.proc.App, err)
	}
	return nil
}
