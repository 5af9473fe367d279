package processors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"
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
		return fmt.Errorf(
			"%w: %s is %s here, and %s in process %s of group %s. A result must not depend on the process that has a partition. Use the same value; or stop all processes, change the value in all of them, and start them. A killed process remains a member until its session timeout", ErrSettings, d.Name, d.Own, d.Theirs, d.Instance, r.proc.App)
	}
	return nil
}

const (
	settingsInterval = time.Minute // between two comparisons of settings
	settingsTimeout  = 5 * time.Second
)

// watchSettings returns ErrTopics if the changelog loses records, and ErrSettings for two processes
// that started at the same time, when neither was a member yet: the one whose instance name is
// greater ends. It also compares the settings of the other topics. It asks until the brokers have
// answered about the topics once, and about the members as long as the process runs.
func (r *Runtime) watchSettings(ctx context.Context) error {
	checks := []*settingsCheck{}
	if len(r.cfg.Topics) > 0 { // the changelog by itself: rights on other topics may be missing
		checks = append(checks, &settingsCheck{run: r.checkChangelog, once: true}, &settingsCheck{run: r.compareTopics, once: true})
	}
	if len(r.proc.Settings) > 0 {
		checks = append(checks, &settingsCheck{run: func(ctx context.Context, adm *kadm.Client) error {
			return r.checkSettings(ctx, adm, func(instance string) bool { return instance < r.cfg.Instance })
		}})
	}
	if len(checks) == 0 {
		return nil
	}
	cl, err := r.cfg.Kafka.Client()
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	for wait := 2 * r.cfg.SessionTimeout; len(checks) > 0 && pause.For(ctx, wait); wait = settingsInterval {
		left := checks[:0]
		for _, c := range checks {
			err := c.ask(ctx, kadm.NewClient(cl))
			if errors.Is(err, ErrSettings) || errors.Is(err, ErrTopics) {
				return err
			}
			if err != nil { // the next comparison asks again
				level := zerolog.DebugLevel
				if c.failed >= 2 {
					level = zerolog.WarnLevel
				}
				r.cfg.Log.WithLevel(level).Str("app", r.proc.App).Err(err).Msg("settings_not_compared")
			}
			if err != nil || !c.once {
				left = append(left, c)
			}
		}
		checks = left
	}
	return nil
}

// settingsCheck is a comparison of watchSettings.
type settingsCheck struct {
	run    func(context.Context, *kadm.Client) error
	once   bool // not repeated after it has succeeded
	failed int  // times in a row
}

func (c *settingsCheck) ask(ctx context.Context, adm *kadm.Client) error {
	ctx, cancel := context.WithTimeout(ctx, settingsTimeout)
	defer cancel()
	err := c.run(ctx, adm)
	if c.failed++; err == nil {
		c.failed = 0
	}
	return err
}
