package local

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// JobSink implements api.JobSink: it writes jobs.submits. Close it.
type JobSink struct {
	Kafka kafka.Cluster
	Topic string

	mu       sync.Mutex
	appender *kafka.Appender // nil: the next request makes one
}

// Submit implements api.JobSink.
func (s *JobSink) Submit(ctx context.Context, list []api.JobRecord) ([]int64, error) {
	p, err := s.open()
	if err != nil {
		return nil, err
	}
	messages := make([]kafka.PartitionMessage, len(list))
	for i, r := range list {
		value, err := proto.Marshal(r.JobSubmission)
		if err != nil {
			return nil, fmt.Errorf("encode a job: %w", err)
		}
		messages[i] = kafka.PartitionMessage{Partition: r.Partition, Message: stream.Message{Key: []byte(r.GetQueue()), Value: value}}
	}
	return p.Append(ctx, messages)
}

func (s *JobSink) open() (*kafka.Appender, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.appender == nil {
		p, err := kafka.NewAppender(s.Kafka, s.Topic)
		if err != nil {
			return nil, err
		}
		s.appender = p
	}
	return s.appender, nil
}

// Close closes the connections.
func (s *JobSink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.appender != nil {
		s.appender.Close()
	}
}

var _ api.JobSink = (*JobSink)(nil)
