package node

import (
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/push"
)

// TestPushWithoutPeers: without another datacentre the role is refused, and has no topics, no
// application and no ACLs.
func TestPushWithoutPeers(t *testing.T) {
	c := loadConfig(t)
	role := pushRole()
	if err := CheckSettings(c, []Role{role}); err == nil || !strings.Contains(err.Error(), "dcs has no other datacentre") {
		t.Error(err)
	}
	apps, err := role.Apps(c)
	acls, err2 := role.ACLs(c)
	if err != nil || err2 != nil || len(apps)+len(acls)+len(role.Topics(c)) > 0 {
		t.Error(apps, acls, role.Topics(c), err, err2)
	}
}

// TestPushTopics: a datacentre has the topics into which the two before it in the ring write, and
// their applications.
func TestPushTopics(t *testing.T) {
	c := loadConfig(t, "WEIR_DC=eu", "WEIR_DCS=eu,us=127.0.0.1:2,ap=127.0.0.1:3,sa=127.0.0.1:4")
	var topics, apps []string
	for _, topic := range pushRole().Topics(c) {
		topics = append(topics, topic.Name)
	}
	list, err := Apps(c, []Role{pushRole()})
	for _, a := range list {
		apps = append(apps, a.Name)
	}
	want := []string{
		"spend.from.ap", "push.ap.eu.state", "push.ap.eu.control", "push.ap.eu.dlq",
		"spend.from.sa", "push.sa.eu.state", "push.sa.eu.control", "push.sa.eu.dlq",
	}
	if err != nil || !slices.Equal(topics, want) || !slices.Equal(apps, []string{"push.ap.eu", "push.sa.eu"}) {
		t.Errorf("topics %q, applications %q, error %v", topics, apps, err)
	}
}

// TestPushACLs: the list has the rights here and in each target.
func TestPushACLs(t *testing.T) {
	lines, err := pushRole().ACLs(loadConfig(t, "WEIR_DC=eu", "WEIR_DCS=eu,us=127.0.0.1:2,ap=127.0.0.1:3,sa=127.0.0.1:4"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"--topic spend.by.eu --operation Read --operation Describe\nat the Kafka of us:\n", "at the Kafka of ap:\n",
		"--topic spend.from.eu --operation Read --operation Write --operation Describe",
		"--topic push.eu.us.state --operation Read --operation Write", "--group push.eu.ap ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, ".sa") {
		t.Errorf("rights in a datacentre that is no target:\n%s", text)
	}
}

// TestPushMemory: all targets together have the share of the role.
func TestPushMemory(t *testing.T) {
	sum := func(dcs string) (bytes int64) {
		a := pushMemory(loadConfig(t, "WEIR_DC=eu", "WEIR_DCS="+dcs), 1<<30)
		for _, u := range a.Uses {
			bytes += u.Bytes
		}
		return bytes
	}
	one, two := sum("eu,us=127.0.0.1:2"), sum("eu,us=127.0.0.1:2,ap=127.0.0.1:3")
	if one > 1<<30 || two > 1<<30 || two < one/2 {
		t.Errorf("one target has %d bytes, two have %d", one, two)
	}
}

// TestPushReadyAlone: a process with the role alone is ready while its targets are away, and
// reports why it waits.
func TestPushReadyAlone(t *testing.T) {
	c := loadConfig(t, "WEIR_DC=eu", "WEIR_DCS=eu,us=127.0.0.1:1")
	n, err := New(c, Config{Kafka: kafka.Cluster{Brokers: []string{"127.0.0.1:1"}}, Log: zerolog.Nop(), Roles: []Role{pushRole()}})
	if err != nil {
		t.Fatal(err)
	}
	if r := n.ready(t.Context()); !r.Ready || len(r.Waiting) != 1 || !strings.Contains(r.Waiting[0], "role push/us waits for us") {
		t.Errorf("%+v", r)
	}
	if list := n.waiting(); len(list) != 1 {
		t.Errorf("waiting: %q", list)
	}
}

// TestPushTroubles: partitions that wait and partitions that are stopped are one sentence each.
func TestPushTroubles(t *testing.T) {
	away, stopped := pushTroubles([]push.Status{
		{Target: "us"}, {Target: "us", Partition: 1, Problem: "refused"}, {Target: "us", Partition: 2, Problem: "damaged", Stopped: true},
	})
	if !slices.Equal(away, []string{"push: 1 of 3 partitions into us wait: refused"}) ||
		!slices.Equal(stopped, []string{"push: 1 of 3 partitions into us are stopped: damaged"}) {
		t.Errorf("away %q, stopped %q", away, stopped)
	}
	if away, stopped := pushTroubles(nil); len(away)+len(stopped) > 0 {
		t.Error(away, stopped)
	}
}
