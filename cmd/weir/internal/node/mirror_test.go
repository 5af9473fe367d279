package node

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/mirror"
)

// TestPeersAway: partitions that wait and partitions that are stopped are one sentence for each
// datacentre and topic.
func TestPeersAway(t *testing.T) {
	copies := func(peer, topic string, problems ...string) (list []mirror.Status) {
		for p, problem := range problems {
			text, stopped := strings.CutPrefix(problem, "stopped ")
			list = append(list, mirror.Status{Peer: peer, Topic: topic, Partition: int32(p), Problem: text, Stopped: stopped})
		}
		return list
	}
	refused := "dial us:9092: refused"
	for name, tc := range map[string]struct {
		list          []mirror.Status
		away, stopped []string
	}{
		"nothing is known yet": {},
		"all is copied":        {list: copies("us", "ads.events", "", "")},
		"one of two is away": {
			list: slices.Concat(copies("ap", "ads.events", "", ""), copies("us", "ads.events", refused, refused)),
			away: []string{"mirror: 2 of 2 partitions of us wait: " + refused},
		},
		"both are away": {
			list: slices.Concat(copies("ap", "ads.events", refused), copies("us", "ads.adjustments", refused), copies("us", "ads.events", refused)),
			away: []string{"mirror: 1 of 1 partitions of ap wait: " + refused, "mirror: 2 of 2 partitions of us wait: " + refused},
		},
		"one is stopped": {
			list:    slices.Concat(copies("us", "ads.adjustments", ""), copies("us", "ads.events", "stopped gone", "")),
			stopped: []string{"mirror: 1 of 2 partitions of ads.events of us are stopped: gone"},
		},
		"all are stopped": {
			list:    copies("us", "ads.events", "stopped gone", "stopped gone"),
			stopped: []string{"mirror: 2 of 2 partitions of ads.events of us are stopped: gone"},
		},
	} {
		away, stopped := peersAway(tc.list)
		if !slices.Equal(away, tc.away) || !slices.Equal(stopped, tc.stopped) {
			t.Errorf("%s: %q, stopped %q", name, away, stopped)
		}
	}
}

// TestWaitsForOneOfSeveral: a process whose mirror copies one datacentre and waits for another one
// is ready, and its readiness has the reason.
func TestWaitsForOneOfSeveral(t *testing.T) {
	r := local.ProcessReadiness([]Readiness{{Partitions: 3, Waiting: "mirror: us waits"}})
	if !r.Ready || len(r.Waiting) != 1 {
		t.Errorf("%+v", r)
	}
	if r := local.ProcessReadiness([]Readiness{{Waiting: "mirror: us waits"}}); r.Ready || len(r.Reasons) != 1 {
		t.Errorf("without a partition: %+v", r)
	}
}

// TestMirrorWithoutPeers: without another datacentre the role is refused, and has no topics, no
// application and no ACLs.
func TestMirrorWithoutPeers(t *testing.T) {
	c := loadConfig(t)
	role := mirrorRole()
	if err := CheckSettings(c, []Role{role}); err == nil || !strings.Contains(err.Error(), "dcs has no other datacentre") {
		t.Error(err)
	}
	apps, err := role.Apps(c)
	acls, err2 := role.ACLs(c)
	if err != nil || err2 != nil || len(apps)+len(acls)+len(role.Topics(c)) > 0 || role.Remote(c) != "" {
		t.Error(apps, acls, role.Topics(c), err, err2)
	}
}

// TestMirrorACLs: the list has the rights at each other datacentre.
func TestMirrorACLs(t *testing.T) {
	lines, err := mirrorRole().ACLs(loadConfig(t, "WEIR_DC=eu", "WEIR_DCS=eu,us=127.0.0.1:2,ap=127.0.0.1:3"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"--topic ads.events.from.us --operation Read --operation Write", "--topic mirror.state --operation Read --operation Write", "--group mirror ",
		"of this one, in addition:\n--topic ads.events --operation Describe\n--topic ads.adjustments --operation Describe\n--topic ads.budgets --operation Describe\nat the Kafka of us:",
		"at the Kafka of ap:\n--topic ads.events --operation Read --operation Describe\n--topic ads.adjustments --operation Read",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
