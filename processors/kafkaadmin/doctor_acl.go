package kafkaadmin

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/stream"
)

// ACLs returns the rights that a principal needs to run p and to administer it, one per line, in
// the syntax of kafka-acls.sh.
func ACLs(p stream.Processor) []string {
	p.SetDefaults()
	dlq := p.DLQ
	var out []string
	topic := func(names []string, operations ...string) {
		for _, n := range names {
			out = append(out, "--topic "+n+ops(operations))
		}
	}
	topic(p.Inputs, "Read", "Describe", "DescribeConfigs")
	topic([]string{p.Changelog, dlq}, "Read", "Write", "Describe", "DescribeConfigs")
	topic(p.WrittenTopics()[2:], "Write", "Describe", "DescribeConfigs")
	out = append(out,
		fmt.Sprintf("--group %s%s", p.App, ops([]string{"Read", "Describe"})),
		fmt.Sprintf("--transactional-id %s- --resource-pattern-type prefixed%s", p.App, ops([]string{"Write", "Describe"})),
		"--cluster"+ops([]string{"Describe", "DescribeConfigs"}),
		"for imports and replays of dead letters, in addition:",
	)
	topic(p.Inputs, "Write")
	out = append(out,
		fmt.Sprintf("--transactional-id weir-dlq-%s%s", strings.TrimSuffix(dlq, ".dlq"), ops([]string{"Write", "Describe"})),
		"to create and alter topics, in addition:", "--cluster"+ops([]string{"Create"}), "--topic '*'"+ops([]string{"AlterConfigs"}))
	return out
}

// SinkACLs returns the rights that a principal needs to read the commands in topic as a member of
// group, and to write results, one per line.
func SinkACLs(group, topic, results string) []string {
	return []string{
		"--topic " + topic + ops([]string{"Read", "Describe", "DescribeConfigs"}),
		"--topic " + results + ops([]string{"Write", "Describe"}),
		"--group " + group + ops([]string{"Read", "Describe"}),
	}
}

func ops(names []string) string {
	return " --operation " + strings.Join(names, " --operation ")
}
