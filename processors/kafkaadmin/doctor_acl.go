package kafkaadmin

import (
	"strings"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// ACLs returns the rights that a principal needs to run p and to administer it, one per line, in
// the syntax of kafka-acls.sh. former are the changelogs of p's former generations, which are
// described before p starts: processors.Config.FormerChangelogs.
func ACLs(p stream.Processor, former ...string) []string {
	p.SetDefaults()
	var a aclList
	a.topics(p.Inputs, "Read", "Describe", "DescribeConfigs")
	a.topics([]string{p.Changelog, p.DLQ}, "Read", "Write", "Describe", "DescribeConfigs")
	a.topics(p.WrittenTopics()[2:], "Read", "Write", "Describe", "DescribeConfigs") // read: where its transactions are open
	a.topics(former, "Describe")
	a.app(p.App)
	a.add("--cluster", "Describe", "DescribeConfigs")
	a = append(a, "for imports and replays of dead letters, in addition:")
	a.topics(p.Inputs, "Write")
	a.add("--transactional-id weir-dlq-"+strings.TrimSuffix(p.DLQ, ".dlq"), "Write", "Describe")
	a = append(a, "to create and alter topics, in addition:")
	a.add("--cluster", "Create")
	a.add("--topic '*'", "AlterConfigs")
	return a
}

// RepartitionACLs returns the rights that a principal needs to move the state of from to to, one
// per line: from is read and gets barriers and markers, to is written.
func RepartitionACLs(from, to stream.Processor) []string {
	from.SetDefaults()
	to.SetDefaults()
	var a aclList
	a.topics(from.Inputs, "Read", "Describe")
	a.topics([]string{from.Changelog}, "Read", "Write", "Describe")
	a.topics([]string{from.DLQ}, "Read", "Describe")
	a.topics(from.WrittenTopics()[2:], "Describe")
	a.app(from.App)
	a.topics(to.Inputs, "Read", "Describe", "DescribeConfigs")
	a.topics([]string{to.Changelog}, "Read", "Write", "Describe", "DescribeConfigs")
	a.topics(to.WrittenTopics()[1:], "Describe", "DescribeConfigs")
	a.app(to.App)
	return a
}

// SinkACLs returns the rights that a principal needs to read the commands in topic as a member of
// group, and to write results, one per line. Those for kafka.SkipGroup serve the process and an
// operator who skips.
func SinkACLs(group, topic, results string) []string {
	var a aclList
	a.topics([]string{topic}, "Read", "Describe", "DescribeConfigs")
	a.topics([]string{results}, "Write", "Describe")
	a.add("--group "+group, "Read", "Describe")
	a.add("--group "+kafka.SkipGroup(group), "Read", "Describe")
	return a
}

// aclList are rights, one per line.
type aclList []string

// add adds the right to operations on a resource.
func (a *aclList) add(resource string, operations ...string) {
	*a = append(*a, resource+" --operation "+strings.Join(operations, " --operation "))
}

func (a *aclList) topics(names []string, operations ...string) {
	for _, name := range names {
		a.add("--topic "+name, operations...)
	}
}

// app adds the rights of an application's members: its group and its transactions.
func (a *aclList) app(name string) {
	a.add("--group "+name, "Read", "Describe")
	a.add("--transactional-id "+name+"- --resource-pattern-type prefixed", "Write", "Describe")
}
