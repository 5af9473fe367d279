package processors

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/stream"
)

// checkChangelog returns ErrTopics if the changelog loses records.
func (r *Runtime) checkChangelog(ctx context.Context, adm *kadm.Client) error {
	configs, err := topics.Describe(ctx, adm, []string{r.proc.Changelog})
	if err != nil {
		return err
	}
	return topics.CheckChangelog(r.proc.Changelog, configs[r.proc.Changelog])
}

// compareTopics logs each topic of the application whose cleanup policy or min.insync.replicas
// differs from Config.Topics.
func (r *Runtime) compareTopics(ctx context.Context, adm *kadm.Client) error {
	own := append(r.proc.WrittenTopics(), r.proc.Inputs...)
	want := slices.DeleteFunc(slices.Clone(r.cfg.Topics), func(t stream.Topic) bool { return !slices.Contains(own, t.Name) })
	configs, err := topics.Describe(ctx, adm, own)
	if err != nil {
		return err
	}
	brokers, err := adm.ListBrokers(ctx)
	if err != nil {
		return fmt.Errorf("list brokers: %w", err)
	}
	for _, t := range want {
		settings := map[string]string{"cleanup.policy": t.Settings()["cleanup.policy"]}
		if n := min(r.cfg.MinInsync, len(brokers)); n > 0 {
			settings["min.insync.replicas"] = strconv.Itoa(n)
		}
		for _, s := range topics.Differing(configs[t.Name], settings) {
			r.cfg.Log.Warn().Str("app", r.proc.App).Str("topic", t.Name).Str("setting", s.Name).Str("is", s.Current).Str("want", s.Want).
				Msg("topic_setting_differs")
		}
	}
	return nil
}
