package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/logreader"
)

// peerLimit bounds the checks of one other datacentre.
const peerLimit = 15 * time.Second

// checkDatacentres checks that the topics of each other datacentre can be copied.
func checkDatacentres(ctx context.Context, c *config.Config, own kafka.Cluster) (checks []kafkaadmin.Check) {
	fromServer := slices.ContainsFunc(c.Entries(), func(e config.Entry) bool { return e.Key == "dcs" && e.Origin == config.OriginServer })
	for _, d := range c.Peers() {
		check := kafkaadmin.Check{
			Severity: kafkaadmin.Warning, Detail: "not known, because a server does not report how to connect to it",
			Remedy: "run the command on the host of a process, with its configuration",
		}
		if !fromServer {
			check = checkDatacentre(ctx, c, own, d)
		}
		check.Name = "datacentre " + d.Name
		checks = append(checks, check)
	}
	return checks
}

// checkDatacentre returns the check of one datacentre, without its name.
func checkDatacentre(ctx context.Context, c *config.Config, own kafka.Cluster, d config.DC) kafkaadmin.Check {
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	bad := func(severity kafkaadmin.Severity, detail, remedy string) kafkaadmin.Check {
		return kafkaadmin.Check{Severity: severity, Detail: detail, Remedy: remedy}
	}
	k, err := PeerKafka(d)
	if err == nil {
		err = k.Reach(ctx)
	}
	if err != nil {
		return bad(kafkaadmin.Warning, "it cannot be reached: "+err.Error(), "check the network, and the item of "+d.Name+" in dcs; the mirror copies what has waited when it answers")
	}
	m := MirrorConfig(c)
	var good []string
	for _, t := range m.Topics {
		id, partitions, err := logreader.Describe(ctx, k, t.Name)
		var here logreader.TopicID
		if err == nil {
			here, _, err = logreader.Describe(ctx, own, t.Name)
		}
		switch {
		case err != nil:
			return bad(kafkaadmin.Warning, err.Error(), "check the network")
		case partitions == 0:
			return bad(kafkaadmin.Warning, fmt.Sprintf("topic %s does not exist there, or its user may not describe it", t.Name),
				"run `weir topics apply` with the configuration of "+d.Name+"; `weir doctor --acls` lists the rights")
		case id == here:
			return bad(kafkaadmin.Error, fmt.Sprintf("its topic %s is that of this datacentre, %s", t.Name, c.DC), "correct its brokers in dcs")
		case partitions != m.Partitions:
			return bad(kafkaadmin.Error, fmt.Sprintf("topic %s has %d partitions there, and %d here: nothing of it is copied", t.Name, partitions, m.Partitions),
				"use the same spend.partitions and spend.generation in all datacentres")
		}
		good = append(good, t.Name)
	}
	return kafkaadmin.Check{OK: true, Severity: kafkaadmin.Info, Detail: fmt.Sprintf("it has %s with %d partitions", strings.Join(good, " and "), m.Partitions)}
}
