package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/stream"
)

// App is an application of the process: a consumer group, and the tasks that the process has of it.
type App struct {
	Name     string // application id: the consumer group
	Instance string // name of this process in the group
	Tasks    TaskSource
	// State reads the state of the application in all processes. Nil: it has none, as a sink.
	State *Router
	// Savepoints takes savepoints of the application. Nil: the calls are refused.
	Savepoints SavepointSource
	// DeadLetters counts the dead letters of the application. Nil: it has none, as a sink.
	DeadLetters DeadLetterSource
}

// TaskSource lists tasks. Its method is called concurrently.
type TaskSource interface {
	// Tasks returns one entry per task of one application in this process, including stopped tasks
	// and standbys.
	Tasks(ctx context.Context) ([]*weirpb.Partition, error)
}

// apps are the applications of the process.
type apps struct {
	list  []App
	first string // the application of requests that name none; empty: the only one with state
	// find returns the processes that run an application. Nil: they are not looked for.
	find    func(ctx context.Context, app string) ([]Peer, error)
	finding chan struct{} // bounds the concurrent calls of find
}

// Bounds of the search for the processes of an application that does not run here.
const (
	maxFinding  = 4
	findTimeout = 2 * time.Second
)

func newApps(cfg *Config) *apps {
	return &apps{list: cfg.Apps, first: cfg.DefaultApp, find: cfg.Find, finding: make(chan struct{}, maxFinding)}
}

// names lists the names of the applications.
func (a *apps) names() (names []string) {
	for _, app := range a.list {
		names = append(names, app.Name)
	}
	return names
}

// instances lists the names of this process, each once.
func (a *apps) instances() (names []string) {
	for _, app := range a.list {
		if !slices.Contains(names, app.Instance) {
			names = append(names, app.Instance)
		}
	}
	return names
}

// get returns the application that a request names. If it does not run here, the error has the
// applications that do, and the processes that run it.
func (a *apps) get(ctx context.Context, name string) (App, error) {
	if i := slices.IndexFunc(a.list, func(app App) bool { return app.Name == name }); i >= 0 {
		return a.list[i], nil
	}
	err := invalid("app %.64q does not run in this process%s: %s", name, a.running(), a.whereabouts(ctx, name))
	detail := &weirpb.AppNotRunning{}
	if stream.ValidName(name) { // details travel in headers, so they are short
		detail.App = name
	}
	return App{}, withDetail(err, detail)
}

// stateOf returns the router of an application, nil if it does not run here or has no state.
func (a *apps) stateOf(name string) *Router {
	for _, app := range a.list {
		if app.Name == name {
			return app.State
		}
	}
	return nil
}

// running is the part of an error that lists the applications of the process.
func (a *apps) running() string {
	if len(a.list) == 0 {
		return " (no applications)"
	}
	return " (applications: " + strings.Join(a.names(), ", ") + ")"
}

// withState returns the application with state that a request names; without a name the default.
func (a *apps) withState(ctx context.Context, name string) (App, error) {
	if name == "" {
		name = a.first
	}
	if name == "" {
		var names []string
		for _, app := range a.list {
			if app.State != nil {
				names = append(names, app.Name)
			}
		}
		if len(names) == 0 {
			return App{}, invalid("this process%s has no state to read: send the request to another process", a.running())
		}
		if len(names) > 1 {
			return App{}, invalid("the request names no application, and this process runs %d with state: set app to one of %s", len(names),
				strings.Join(names, ", "))
		}
		name = names[0]
	}
	app, err := a.get(ctx, name)
	if err == nil && app.State == nil {
		err = errorf(connect.CodeFailedPrecondition, "%s has no state: it only acts on another system: list its partitions instead", name)
	}
	return app, err
}

// whereabouts describes where an application runs that does not run in this process, and what to
// do.
func (a *apps) whereabouts(ctx context.Context, name string) string {
	unknown := "send the request to a process that runs it, or correct the name"
	if a.find == nil || !stream.ValidName(name) {
		return unknown
	}
	select {
	case a.finding <- struct{}{}:
		defer func() { <-a.finding }()
	default:
		return unknown
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	peers, err := a.find(ctx, name)
	if err != nil {
		return fmt.Sprintf("the brokers did not answer, so its processes are not known (%v): %s", err, unknown)
	}
	var at []string
	for _, p := range peers {
		switch {
		case p.Endpoint != "":
			at = append(at, fmt.Sprintf("%s at %s", p.Instance, p.Endpoint))
		case p.Instance != "":
			at = append(at, p.Instance+", which has no API address")
		}
	}
	if len(at) == 0 {
		return "no process runs this application: start one, or correct the name"
	}
	rest := ""
	if n := len(at) - maxListed; n > 0 {
		at, rest = at[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	return "send the request to a process that runs it: " + strings.Join(at, ", ") + rest
}
