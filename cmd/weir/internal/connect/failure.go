package connect

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcounter"
)

// NodeFailure gives the errors of package node their exit codes and remedies. It returns other
// errors unchanged.
func NodeFailure(err error) error {
	var settings *node.ConfigError
	var stop *node.StopTimeoutError
	var role *node.RoleError
	switch {
	case errors.As(err, &settings):
		return cli.Fail(cli.ExitConfig, settings.What, settings.Err, settings.Do)
	case errors.As(err, &stop):
		return cli.Fail(cli.ExitFailed, "the process did not stop in time", stop,
			"start it again: no data is lost, uncommitted records are read again; processor.shutdown_timeout is the time limit")
	case errors.As(err, &role):
		return roleFailure(role)
	}
	return err
}

// roleFailure names the role's group in the remedy where topics are wrong.
func roleFailure(err *node.RoleError) error {
	if errors.Is(err, processors.ErrTopics) {
		group := err.Role.Group
		return cli.Fail(cli.ExitUnavailable, "the topics do not match the configuration", err.Err, fmt.Sprintf(
			"`weir topics plan --for %[1]s` shows the difference, `weir topics apply --for %[1]s` corrects what can be corrected; %[2]s",
			group.Name, group.Repartition))
	}
	return runFailure(err.Err, "the role "+err.Role.Name+" stopped")
}

// RunFailure gives the errors of an offline run their exit codes and remedies. nil stays nil.
func RunFailure(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, processors.ErrTopics) {
		return cli.Fail(cli.ExitUnavailable, "the topics do not match the configuration", err,
			"`weir topics plan` shows the difference, `weir topics apply` corrects what can be corrected; "+
				"`weir repartition` moves the state to another number of partitions")
	}
	return runFailure(err, "the processor stopped")
}

// runFailure explains an error of a runtime. what is for errors without a remedy.
func runFailure(err error, what string) error {
	if f := refusal(what, err); f != nil {
		return f
	}
	switch {
	case errors.Is(err, kafka.ErrInstance):
		return cli.Fail(cli.ExitConfig, "another process has the name of this one, and has taken its place", err,
			"set another instance for one of the two (--instance); without it the name is that of the host. Nothing is lost. Check that the other process runs")
	case errors.Is(err, processors.ErrLocked):
		return cli.Fail(cli.ExitLocked, "cannot use the state directory", err, "stop the other process, or set another data_dir")
	case errors.Is(err, processors.ErrNewer):
		return cli.Fail(cli.ExitConfig, "cannot use the state directory", err,
			"run the newer version of weir, or set an empty data_dir: the state is rebuilt from the changelog")
	case errors.Is(err, processors.ErrForeign):
		return cli.Fail(cli.ExitConfig, "cannot use the state directory", err,
			"set another data_dir: each application needs its own; nothing was changed")
	case errors.Is(err, processors.ErrDiskFull):
		return cli.Fail(cli.ExitIO, "the disk of the state directory is full", err,
			"free space there, or move data_dir to a larger disk, then start the process again: "+
				"no data is lost, the changelog has what the store lacks")
	case errors.Is(err, processors.ErrDisk):
		return cli.Fail(cli.ExitIO, "the disk of the state directory fails", err,
			"see the log of the operating system; start the process again on a disk that works: the state is rebuilt from the changelog")
	case errors.Is(err, processors.ErrNotMoved):
		return cli.Fail(cli.ExitConfig, "the counter would begin again at zero", err,
			"run `weir repartition` with this configuration, which moves the state; or restore spend.generation. "+
				"To begin at zero, delete the former topics")
	case errors.Is(err, processors.ErrPartlyMoved):
		return cli.Fail(cli.ExitConfig, "the counter would begin with a part of its totals", err,
			"run `weir repartition` again with this configuration, which completes the move; or restore spend.generation")
	case errors.Is(err, processors.ErrMovedAway):
		return cli.Fail(cli.ExitConfig, "the counter runs with a later spend.generation", err,
			"start weir with the configuration of that generation, which lacks what this one would count. To go back before that one has started, "+
				"run `weir repartition --undo` with its configuration")
	case errors.Is(err, processors.ErrSettings):
		return cli.Fail(cli.ExitConfig, "the processes have different settings", err,
			"set spend.duplicate_window, spend.late_events, spend.max_ids, spend.hours, spend.parts and spend.retention to the same values in all processes; `weir doctor` compares them")
	case errors.Is(err, processors.ErrTransactions):
		return cli.Fail(cli.ExitUnavailable, "the brokers do not support what weir needs", err,
			"use Kafka 4.0 or newer and upgrade it with `kafka-features.sh upgrade --feature transaction.version=2`; `weir doctor` shows what the brokers lack")
	case errors.Is(err, spendcounter.ErrInconsistent):
		return cli.Fail(cli.ExitFailed, what, err, "`weir replay` counts the inputs again and shows the difference; nothing was changed")
	case errors.Is(err, bridge.ErrRegionOrder):
		return cli.Fail(cli.ExitConfig, what, err, "restore the order of leases.regions; new regions come at its end")
	}
	return cli.Fail(0, what, err, "")
}

// refusal explains an error of brokers that do not accept this client, or that it does not accept.
// It returns nil for other errors.
func refusal(what string, err error) error {
	if errors.As(err, new(*kafka.NoAnswerError)) {
		return cli.Fail(cli.ExitUnavailable, what, err,
			"check that the addresses are those of Kafka brokers and that these work, and set kafka.tls.enabled as their listener requires")
	}
	switch kafka.RefusalOf(err) {
	case kafka.BadCredentials:
		return cli.Fail(cli.ExitAuth, what, err,
			"correct kafka.sasl.mechanism, kafka.sasl.user and the password, or kafka.tls.cert_file and kafka.tls.key_file if the brokers "+
				"require a client certificate: it must be valid now, and of an authority that the brokers trust")
	case kafka.NoPermission:
		return cli.Fail(cli.ExitAuth, what, err, "`weir doctor --acls` prints the ACLs that the user needs")
	case kafka.UntrustedBroker:
		return cli.Fail(cli.ExitUnavailable, what, err,
			"set kafka.tls.ca_file to the authority of the brokers' certificates; these must be valid now, and must contain the names in kafka.brokers")
	case kafka.TLSMismatch:
		return cli.Fail(cli.ExitUnavailable, what, err,
			"set kafka.tls.enabled and kafka.sasl.mechanism as the listener in kafka.brokers requires, and check that the broker runs")
	case kafka.NotRefused:
	}
	return nil
}
