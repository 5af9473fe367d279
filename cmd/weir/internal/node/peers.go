package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/logreader"
)

// peerLimit bounds the checks of one other datacentre.
const peerLimit = 15 * time.Second

// checkDatacentres checks that the topics of each other datacentre can be copied.
func checkDatacentres(ctx context.Context, c *config.Config, own kafka.Cluster) (checks []kafkaadmin.Check) {
	fromServer := dcsFromServer(c)
	names := copiedTopics(c)
	var here map[string]logreader.Topic
	var err error
	if len(c.Peers()) > 0 && !fromServer {
		bounded, cancel := context.WithTimeout(ctx, peerLimit)
		defer cancel()
		here, err = logreader.Describe(bounded, own, names...)
	}
	for _, d := range c.Peers() {
		var check kafkaadmin.Check
		switch {
		case fromServer:
			check = unknownDatacentre()
		case err != nil:
			check = kafkaadmin.Check{Severity: kafkaadmin.Warning, Detail: "not known: " + err.Error(), Remedy: "check the network"}
		default:
			check = checkDatacentre(ctx, c, d, here)
		}
		check.Name = "datacentre " + d.Name
		checks = append(checks, check)
	}
	return checks
}

// copiedTopics returns the names of the topics that are copied of each other datacentre.
func copiedTopics(c *config.Config) (names []string) {
	for _, t := range MirrorConfig(c).Topics {
		names = append(names, t.Name)
	}
	return names
}

// checkDatacentre returns the check of one datacentre, without its name. own are the topics of this
// datacentre that are copied of each other one.
func checkDatacentre(ctx context.Context, c *config.Config, d config.DC, own map[string]logreader.Topic) kafkaadmin.Check {
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	names, want := copiedTopics(c), MirrorConfig(c).Partitions
	there, failed := describePeer(ctx, d, "the mirror copies what has waited when it answers", names...)
	if failed != nil {
		return *failed
	}
	for _, name := range names {
		t, here := there[name], own[name]
		switch {
		case t.Denied:
			return badDatacentre(kafkaadmin.Warning, fmt.Sprintf("its user may not describe topic %s there: it is not copied", name),
				"grant the rights that `weir doctor --acls` lists")
		case t.Partitions == 0:
			return badDatacentre(kafkaadmin.Warning, fmt.Sprintf("topic %s does not exist there", name),
				"run `weir topics apply` with the configuration of "+d.Name)
		case here.Denied:
			return badDatacentre(kafkaadmin.Warning,
				fmt.Sprintf("the user may not describe topic %s of this datacentre, %s: that of %s is not copied", name, c.DC, d.Name),
				"grant the rights that `weir doctor --acls` lists")
		case t.ID == here.ID:
			return badDatacentre(kafkaadmin.Error, fmt.Sprintf("its topic %s is that of this datacentre, %s", name, c.DC),
				"correct its brokers in dcs")
		case t.Partitions != want:
			return badDatacentre(kafkaadmin.Error,
				fmt.Sprintf("topic %s has %d partitions there, and %d here: nothing of it is copied", name, t.Partitions, want),
				"use the same spend.partitions and spend.generation in all datacentres")
		}
	}
	return kafkaadmin.Check{
		OK: true, Severity: kafkaadmin.Info, Detail: fmt.Sprintf("it has %s with %d partitions", strings.Join(names, " and "), want),
	}
}

// dcsFromServer reports whether the ring is what a server reports, without brokers.
func dcsFromServer(c *config.Config) bool {
	return slices.ContainsFunc(c.Entries(), func(e config.Entry) bool { return e.Key == "dcs" && e.Origin == config.OriginServer })
}

// unknownDatacentre is the check of a datacentre of dcsFromServer, without its name.
func unknownDatacentre() kafkaadmin.Check {
	return badDatacentre(kafkaadmin.Warning, "not known, because a server does not report how to connect to it",
		"run the command on the host of a process, with its configuration")
}

// badDatacentre is a failed check of a datacentre, without its name.
func badDatacentre(severity kafkaadmin.Severity, detail, remedy string) kafkaadmin.Check {
	return kafkaadmin.Check{Severity: severity, Detail: detail, Remedy: remedy}
}

// describePeer asks another datacentre for topics. If it cannot, it returns the failed check; after
// is what happens when the datacentre answers.
func describePeer(ctx context.Context, d config.DC, after string, topics ...string) (map[string]logreader.Topic, *kafkaadmin.Check) {
	k, err := PeerKafka(d)
	if err == nil {
		err = k.Reach(ctx)
	}
	if err != nil {
		check := badDatacentre(kafkaadmin.Warning, "it cannot be reached: "+err.Error(),
			"check the network, and the item of "+d.Name+" in dcs; "+after)
		return nil, &check
	}
	there, err := logreader.Describe(ctx, k, topics...)
	if err != nil {
		check := badDatacentre(kafkaadmin.Warning, err.Error(), "check the network")
		return nil, &check
	}
	return there, nil
}

// checkPushTargets checks that the topics of the push exist in each target.
func checkPushTargets(ctx context.Context, c *config.Config, _ kafka.Cluster) (checks []kafkaadmin.Check) {
	for _, d := range c.PushTargets() {
		check := unknownDatacentre()
		if !dcsFromServer(c) {
			check = checkPushTarget(ctx, c, d)
		}
		check.Name = "push into " + d.Name
		checks = append(checks, check)
	}
	return checks
}

// checkPushTarget returns the check of one target, without its name.
func checkPushTarget(ctx context.Context, c *config.Config, d config.DC) kafkaadmin.Check {
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	m := PushConfig(c, c.DC, d.Name)
	names := []string{m.Copy, m.State, m.Control, m.DLQ}
	there, failed := describePeer(ctx, d, "the push continues when it answers", names...)
	if failed != nil {
		return *failed
	}
	for _, name := range names {
		switch t := there[name]; {
		case t.Denied:
			return badDatacentre(kafkaadmin.Warning,
				fmt.Sprintf("its user may not describe topic %s there: the totals are not written", name),
				"grant the rights that `weir doctor --acls` lists")
		case t.Partitions == 0:
			return badDatacentre(kafkaadmin.Warning, fmt.Sprintf("topic %s does not exist there", name),
				"check that dcs is the same there, and run `weir topics apply` with the configuration of "+d.Name)
		case t.Partitions != m.Partitions:
			return badDatacentre(kafkaadmin.Error,
				fmt.Sprintf("topic %s has %d partitions there, and %d are expected: the totals are not written", name, t.Partitions,
					m.Partitions),
				"use the same spend.partitions and spend.generation in all datacentres")
		}
	}
	return kafkaadmin.Check{
		OK: true, Severity: kafkaadmin.Info, Detail: fmt.Sprintf("it has %s with %d partitions", m.Copy, m.Partitions),
	}
}

// checkOtherPacing checks that the parameters of other datacentres can be served.
func checkOtherPacing(ctx context.Context, c *config.Config, _ kafka.Cluster) (checks []kafkaadmin.Check) {
	for _, d := range c.PushTargets() {
		check := unknownDatacentre()
		if !dcsFromServer(c) {
			check = checkPacingOf(ctx, c, d)
		}
		check.Name = "pacing of " + d.Name
		checks = append(checks, check)
	}
	return checks
}

// checkPacingOf returns the check of one datacentre, without its name.
func checkPacingOf(ctx context.Context, c *config.Config, d config.DC) kafkaadmin.Check {
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	l := SpendCounter(c).Layout
	name := l.Name(events.PacingTopic(d.Name))
	there, failed := describePeer(ctx, d, "its parameters can be served when it answers", name)
	if failed != nil {
		return *failed
	}
	switch t := there[name]; {
	case t.Denied:
		return badDatacentre(kafkaadmin.Warning,
			fmt.Sprintf("the user may not describe topic %s there: its parameters are not served while no process paces here", name),
			"grant the rights that `weir doctor --acls` lists")
	case t.Partitions != 0 && t.Partitions != l.Partitions():
		return badDatacentre(kafkaadmin.Warning,
			fmt.Sprintf("topic %s has %d partitions there, and %d are expected: its parameters are not served", name, t.Partitions,
				l.Partitions()),
			"use the same spend.partitions and spend.generation in all datacentres")
	case t.Partitions == 0:
		return kafkaadmin.Check{
			OK: true, Severity: kafkaadmin.Info, Detail: "it does not pace campaigns: topic " + name + " does not exist there",
		}
	}
	return kafkaadmin.Check{OK: true, Severity: kafkaadmin.Info, Detail: fmt.Sprintf("it has %s with %d partitions", name, l.Partitions())}
}
