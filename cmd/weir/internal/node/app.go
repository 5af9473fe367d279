package node

import (
	"fmt"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/offline"
	"github.com/weirhq/weir/stream"
)

// App is an application of a role: a consumer group. Commands take its name as --app.
type App struct {
	Name   string // application id: the consumer group
	Role   string // name of its role
	Inputs []string
	// Processor describes the application without its connections: names, tables and canonical form
	// are valid, its handlers are not. Nil: a sink, which has neither state nor dead letters.
	Processor *stream.Processor
	// Route returns the partition for the record of a dead letter that is replayed, with the number
	// of partitions that the record's topic has. Nil: the partition of its origin.
	Route func(l *kafkaadmin.DeadLetter, partitions int32) (int32, error)
	// Replay is what a replay of the application needs; its Processor has valid handlers then. Nil:
	// it cannot be replayed.
	Replay *ReplayRules
}

// ReplayRules are what offline.Replay needs to know of an application.
type ReplayRules struct {
	// Migrated is offline.ReplayStart.Migrated.
	Migrated bool
	// Select is offline.Promotion.Select for one account; empty: for all of the state.
	Select func(account string, live stream.Get, c stream.Commit) (offline.Selector, error)
}

// processorApp is the application of a role with one processor.
func processorApp(p stream.Processor, err error) ([]App, error) {
	if err == nil {
		err = p.Complete()
	}
	if err != nil {
		return nil, err
	}
	return []App{{Name: p.App, Inputs: p.Inputs, Processor: &p}}, nil
}

// Apps returns the applications of roles with this configuration, in the order of roles. Its error
// is a *ConfigError.
func Apps(c *config.Config, roles []Role) (apps []App, err error) {
	for _, r := range roles {
		if r.Apps == nil {
			continue
		}
		list, err := r.Apps(c)
		if err != nil {
			return nil, r.configError(err)
		}
		for _, a := range list {
			a.Role = r.Name
			apps = append(apps, a)
		}
	}
	return apps, nil
}

// UnknownAppError reports a name that the configuration has no application for.
type UnknownAppError struct {
	Name  string
	Known []App
}

// Error names the unknown application.
func (e *UnknownAppError) Error() string {
	return fmt.Sprintf("no application is called %q", e.Name)
}

// FindApp returns the application with a name, "" for the first. Its error is an *UnknownAppError
// or a *ConfigError.
func FindApp(c *config.Config, name string) (App, error) {
	apps, err := Apps(c, Roles())
	if err != nil {
		return App{}, err
	}
	for _, a := range apps {
		if name == "" || a.Name == name {
			return a, nil
		}
	}
	return App{}, &UnknownAppError{name, apps}
}
