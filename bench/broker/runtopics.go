package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// runTopics are the topics of one run of a processor.
type runTopics struct {
	adm   admin
	names []string
}

// isolate adds a suffix to the names of the processor, so that runs do not share state, and creates
// its topics. Remove them.
func isolate(ctx context.Context, k kafka.Cluster, proc *stream.Processor) (*runTopics, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, err
	}
	t := &runTopics{adm: admin{kadm.NewClient(cl)}}
	suffix := fmt.Sprintf("-%d", time.Now().UnixNano())
	proc.App, proc.Changelog, proc.DLQ = proc.App+suffix, proc.Changelog+suffix, proc.DLQ+suffix
	t.names = []string{proc.Changelog, proc.DLQ}
	for _, out := range proc.Outputs {
		t.names = append(t.names, out.Topic)
	}
	compact := "compact"
	for _, name := range t.names {
		var config map[string]*string
		if name == proc.Changelog {
			config = map[string]*string{"cleanup.policy": &compact}
		}
		if err := t.adm.create(ctx, name, proc.Partitions, config); err != nil {
			cl.Close()
			return nil, err
		}
	}
	return t, nil
}

// checkRejects returns an error if records were rejected: they are read, but not counted.
func (t *runTopics) checkRejects(ctx context.Context, dlq string) error {
	n, err := t.adm.written(ctx, dlq)
	if err == nil && n > 0 {
		err = errors.New("records of the log were rejected: delete the topic of the log if another version of weir filled it")
	}
	return err
}

// remove deletes the topics, also if ctx has ended, and closes the connections.
func (t *runTopics) remove(ctx context.Context) error {
	defer t.adm.Close()
	_, err := t.adm.DeleteTopics(context.WithoutCancel(ctx), t.names...)
	return err
}
