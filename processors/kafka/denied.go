package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// NameUndescribed completes the error of a request that describes topics or lists their offsets, as
// NameDenied does.
func NameUndescribed(ctx context.Context, adm *kadm.Client, err error, topics ...string) error {
	return NameDenied(err, "Describe", topics, func(topic string) error {
		_, err := adm.Metadata(ctx, topic)
		return err
	})
}

// NameDenied completes the error of a request about topics that needs a right. If the ACLs do not
// allow it, the client returns the error of one topic without its name. NameDenied repeats the
// request for each topic by itself, and adds the right and the topics that are refused. It returns
// other errors as they are.
func NameDenied(err error, right string, topics []string, ask func(topic string) error) error {
	if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		return err
	}
	var denied []string
	for _, topic := range topics {
		if errors.Is(ask(topic), kerr.TopicAuthorizationFailed) {
			denied = append(denied, topic)
		}
	}
	return fmt.Errorf("the user needs the right %s of topic %s: %w", right, strings.Join(denied, ", "), err)
}
