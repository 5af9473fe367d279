package connect

import (
	"errors"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// TopicFailure gives the errors of package kafkaadmin about topics and groups their remedies. code
// is the exit code of other errors; 0: by the kind of the error. nil stays nil.
func TopicFailure(code int, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kafkaadmin.ErrConflict):
		return cli.Fail(cli.ExitFailed, what, err, "correct what is stated of each topic; `weir topics plan` prints it again, and "+
			"`weir repartition --help` describes the move to another number of partitions")
	case errors.Is(err, kafkaadmin.ErrUnknownTopic):
		return cli.Fail(cli.ExitUnavailable, what, err, "check the names; `weir topics plan` shows which topics are missing")
	case errors.Is(err, kafkaadmin.ErrReplication):
		return cli.Fail(cli.ExitFailed, what, err, "lower topics.replication_factor and topics.min_insync, or start more brokers")
	}
	if f := refusal(what, err); f != nil {
		return f
	}
	return cli.Fail(code, what, err, "check --brokers; `weir doctor` checks what weir needs of them")
}

// DeadLetterFailure gives the errors of replaying and dropping dead letters their remedies. nil
// stays nil.
func DeadLetterFailure(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kafkaadmin.ErrTakenOver):
		return cli.Fail(0, what, err, "`weir dlq list` shows the records that are left; repeat the command for these")
	case errors.Is(err, kafkaadmin.ErrTransactionalID):
		return cli.Fail(0, what, err, "`weir doctor --acls` checks the brokers and prints the ACLs that the command needs")
	case errors.Is(err, kafkaadmin.ErrUnknownTopic):
		return TopicFailure(0, what, err)
	}
	if f := refusal(what, err); f != nil {
		return f
	}
	return cli.Fail(0, what, err, "repeat the command: it continues with the records that are left, each once")
}
