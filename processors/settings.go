package processors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/internal/pause"
)

// Difference is a setting that two processes of an application have with different values.
type Difference struct {
	Name        string
	Own, Theirs string
	Instance    string // of the other process
}

// Differences compares Processor.Settings with those of the members, one for each setting and
// process. A setting that one of the two does not know is of another version, and is not compared.
func Differences(own map[string]string, members []Member) (out []Difference) {
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m.Instance] {
			continue
		}
		seen[m.Instance] = true
		for _, name := range slices.Sorted(maps.Keys(own)) {
			if theirs, known := m.Settings[name]; known && theirs != own[name] {
				out = append(out, Difference{name, own[name], theirs, m.Instance})
			}
		}
	}
	return out
}

// checkSettings returns ErrSettings if a member of the group that is another process, and for which
// applies is true, has other settings.
func (r *Runtime) checkSettings(ctx context.Context, adm *kadm.Client, applies func(instance string) bool) error {
	if len(r.proc.Settings) == 0 {
		return nil
	}
	members, err := describeMembers(ctx, adm, r.proc.App)
	if err != nil {
		return err
	}
	members = slices.DeleteFunc(members, func(m Member) bool { return m.Instance == r.cfg.Instance || !applies(m.Instance) })
	for _, d := range Differences(r.proc.Settings, members) {
		return fmt.Errorf("%w: %s is %s here, and %s in process %s of group %s. A result must not depend on the process that has a partition. Use the same value; or stop all processes, change the value in all of them, and start them. A killed process remains a member until its session timeout", ErrSettings, d.Name, d.Own, d.Theirs, d.Instance, r.proc.App)
	}
	return nil
}

const (
	settingsInterval = time.Minute // between two comparisons of settings
	settingsTimeout  = 5 * time.Second
)

// watchSettings returns ErrSettings for two processes that started at the same time, when neither
// was a member yet: the one whose instance name is greater ends. It also compares the settings of
// the topics, until the brokers have answered once.
func (r *Runtime) watchSettings(ctx context.Context) error {
	topicsCompared := len(r.cfg.Topics) == 0
	if len(r.proc.Settings) == 0 && topicsCompared {
		return nil
	}
	cl, err := r.cfg.Kafka.Client()
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	for wait := 2 * r.cfg.SessionTimeout; pause.For(ctx, wait); wait = settingsInterval {
		bounded, cancel := context.WithTimeout(ctx, settingsTimeout)
		err := r.checkSettings(bounded, kadm.NewClient(cl), func(instance string) bool { return instance < r.cfg.Instance })
		if err == nil && !topicsCompared {
			err = r.compareTopics(bounded, kadm.NewClient(cl))
			topicsCompared = err == nil
		}
		cancel()
		if errors.Is(err, ErrSettings) || errors.Is(err, ErrTopics) {
			return err
		}
		if err != nil { // the next comparison asks again
			r.cfg.Log.Debug().Err(err).Msg("settings_not_compared")
		}
	}
	return nil
}
