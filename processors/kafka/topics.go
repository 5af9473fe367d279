package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// DescribeTopics asks for topics. The answer has each of them. Err of a topic is why it is not
// described: kerr.UnknownTopicOrPartition if it does not exist, and kerr.TopicAuthorizationFailed
// if the user may not describe it. The error means that no broker answered.
func DescribeTopics(ctx context.Context, adm *kadm.Client, topics ...string) (kadm.TopicDetails, error) {
	if len(topics) == 0 {
		return kadm.TopicDetails{}, nil // kadm would ask for all topics
	}
	details, err := adm.ListTopics(Uncached(ctx), topics...)
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed) && len(topics) == 1:
		return kadm.TopicDetails{topics[0]: {Topic: topics[0], Err: kerr.TopicAuthorizationFailed}}, nil
	case errors.Is(err, kerr.TopicAuthorizationFailed): // kadm returns the error of one topic, and no other topic
		details = kadm.TopicDetails{}
		for _, topic := range topics {
			one, err := DescribeTopics(ctx, adm, topic)
			if err != nil {
				return nil, err
			}
			details[topic] = one[topic]
		}
		return details, nil
	case err != nil:
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	for _, topic := range topics {
		if _, known := details[topic]; !known {
			details[topic] = kadm.TopicDetail{Topic: topic, Err: kerr.UnknownTopicOrPartition}
		}
	}
	return details, nil
}
