package connect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// Names of the flags that choose applications.
const (
	appFlag   = "--app"
	groupFlag = "--group"
)

// AppFlag adds --app for one application of the configuration.
func AppFlag(f *pflag.FlagSet, name *string) {
	f.StringVar(name, "app", "", "application, such as "+exampleApp+" (default: the spend counter)")
}

// exampleApp is the application in help texts.
const exampleApp = "lease-balancer"

// App returns an application of the configuration, "" for the spend counter. It returns a usage
// error for an unknown name. flag is the flag that has the name.
func App(c *config.Config, flag, name string) (node.App, error) {
	app, err := node.FindApp(c, name)
	var unknown *node.UnknownAppError
	if errors.As(err, &unknown) {
		return app, cli.UsageError(fmt.Sprintf("%s: %v", flag, err), appRemedy(unknown))
	}
	return app, NodeFailure(err)
}

// appRemedy proposes the application that the user may have meant: one with a similar name, or the
// one of a role.
func appRemedy(e *node.UnknownAppError) string {
	var names []string
	for _, a := range e.Known {
		if names = append(names, a.Name); a.Processor != nil && a.Role == e.Name {
			return "did you mean " + a.Name + "?"
		}
	}
	if n, ok := config.Nearest(e.Name, names); ok {
		return "did you mean " + n + "?"
	}
	return "the applications of this configuration are: " + strings.Join(names, ", ")
}

// NamedApps returns the applications of the configuration with these names, all without names.
func NamedApps(c *config.Config, names []string) (apps []node.App, err error) {
	if len(names) == 0 {
		apps, err = node.Apps(c, node.Roles())
		return apps, NodeFailure(err)
	}
	for _, name := range names {
		a, err := App(c, appFlag, name)
		if err != nil {
			return nil, err
		}
		apps = append(apps, a)
	}
	return apps, nil
}

// GroupFlag adds --group for an application that the configuration does not know.
func GroupFlag(f *pflag.FlagSet, name *string) {
	f.StringVar(name, "group", "", "consumer group of a program of your own, in place of --app")
}

// GroupFailure explains the errors of kafkaadmin.GroupInputs and kafkaadmin.Lag. nil stays nil.
func GroupFailure(what string, err error) error {
	var unknown *kafkaadmin.UnknownGroupError
	if !errors.As(err, &unknown) {
		return TopicFailure(cli.ExitUnavailable, what, err)
	}
	do := "the brokers have no group yet: start the program"
	if len(unknown.Known) > 0 {
		do = "the groups are: " + strings.Join(unknown.Known, ", ")
	}
	if n, ok := config.Nearest(unknown.Group, unknown.Known); ok {
		do = "did you mean " + n + "?"
	}
	return cli.Fail(cli.ExitUsage, "the command line is not valid", fmt.Errorf("%s: %w", groupFlag, err), do)
}

// ServerAppFailure replaces the remedy of an error of the API about an application that the server
// does not run: with the name that the user may have meant, if the configuration does not know the
// name. It returns other errors unchanged.
func ServerAppFailure(a *cli.App, name string, err error) error {
	if name == "" || !api.IsAppNotRunning(err) {
		return err
	}
	cfg, bad := a.LoadConfig()
	if bad != nil {
		return err
	}
	do := "give --server a process that runs it"
	var unknown *node.UnknownAppError
	if _, not := node.FindApp(cfg, name); errors.As(not, &unknown) {
		do = appRemedy(unknown)
	}
	return cli.Fail(cli.ExitUsage, "the server does not run the application", err, do)
}

// DeadLetterTopic returns the dead-letter topic of an application, and the application: one of the
// configuration, or of a group that the configuration does not know.
func DeadLetterTopic(c *config.Config, app, group string) (string, node.App, error) {
	if group != "" {
		if app != "" {
			return "", node.App{}, cli.UsageError("both --app and --group are given",
				"give --app for an application of weir, --group for one of your own")
		}
		return group + ".dlq", node.App{Name: group}, nil
	}
	found, err := App(c, appFlag, app)
	if err != nil {
		return "", found, err
	}
	if found.Processor == nil {
		return "", found, cli.UsageError(fmt.Sprintf("%s %s: an executor has no dead letters", appFlag, found.Name),
			"`weir bridge rejected` lists rejected rows; `weir status` shows waiting commands")
	}
	return found.Processor.DLQ, found, nil
}
