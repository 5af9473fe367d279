package kafkaadmin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

func proc() stream.Processor {
	return stream.Processor{App: "app", Inputs: []string{"ads.events"}, Changelog: "spend.by.local", Outputs: stream.OutputTopics("totals")}
}

// find returns the check with a name.
func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check is called %q: %+v", name, checks)
	return Check{}
}

func TestDoctorOfAHealthyCluster(t *testing.T) {
	c, k := fake(t, kfake.ClusterID("dev"))
	d := Defaults{ReplicationFactor: 3, MinInsync: 2}
	steps, err := PlanTopics(t.Context(), k, events.Catalog("local", events.Layout{}), d)
	if err == nil {
		err = ApplySteps(t.Context(), k, steps)
	}
	if err != nil {
		t.Fatal(err)
	}
	produce(t, k, "", &kgo.Record{Topic: events.EventsTopic, Value: []byte("v")})
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o := DoctorOptions{Topics: events.Catalog("local", events.Layout{}), Defaults: d, Apps: []string{"app"}, StateDir: dir, MinFree: 1, DevCluster: "dev"}
	checks := Doctor(t.Context(), k, o)
	for _, c := range checks {
		if !c.OK || c.Severity != Info || c.Detail == "" || c.Remedy != "" {
			t.Errorf("%+v", c)
		}
	}
	for i := range 3 {
		if b := find(t, checks, fmt.Sprintf("broker %d", i)); !strings.Contains(b.Detail, c.ListenAddrs()[i]) {
			t.Errorf("broker %d: %+v", i, b)
		}
	}
	for _, name := range []string{
		"kafka version", "transaction.version", "group.min.session.timeout.ms", "group.max.session.timeout.ms", "transaction.max.timeout.ms",
		"message.max.bytes", "topics", "leaders", "in-sync copies", "replication factor", "min.insync.replicas", "unclean leader election",
		"clock", "state directory", "disk space", "state lock of app",
	} {
		find(t, checks, name)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("files left in the state directory: %v %v", left, err)
	}
}

func TestDoctorFindings(t *testing.T) {
	_, k := fake(t, kfake.NumBrokers(2), kfake.MaxVersions(kversion.V3_7_0()),
		kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "30000", "transaction.max.timeout.ms": "1000", "message.max.bytes": "1000"}),
		kfake.SeedTopics(3, events.EventsTopic, events.SpendDLQTopic))
	checks := Doctor(t.Context(), k, DoctorOptions{Topics: events.Catalog("local", events.Layout{}), Defaults: Defaults{
		ReplicationFactor: 1, MinInsync: 1, Names: RemedyNames{SessionTimeout: "my.timeout", Partitions: func(topic string) string { return topic + ".n" }, Apply: "run my command"},
	}})
	for name, want := range map[string]Severity{
		"transaction.version": Error, "group.min.session.timeout.ms": Error, "transaction.max.timeout.ms": Error, "message.max.bytes": Warning, "kafka version": Warning,
		"topic " + events.EventsTopic: Error, "topic " + events.SpendTopic("local"): Error, "replication factor": Warning, "min.insync.replicas": Warning,
	} {
		if c := find(t, checks, name); c.OK || c.Severity != want || c.Remedy == "" || c.Detail == "" {
			t.Errorf("%+v", c)
		}
	}
	// Remedies use the program's names.
	for name, want := range map[string]string{
		"group.min.session.timeout.ms": "raise my.timeout,", "topic " + events.SpendTopic("local"): "run my command",
		"topic " + events.EventsTopic: "set " + events.EventsTopic + ".n to that",
	} {
		if c := find(t, checks, name); !strings.Contains(c.Remedy, want) {
			t.Errorf("the remedy lacks %q: %+v", want, c)
		}
	}
}

// TestDoctorOfAddedPartitions: partitions that an administrator added are an error of doctor. Its
// remedy keeps the number of the state.
func TestDoctorOfAddedPartitions(t *testing.T) {
	_, k := fake(t, kfake.SeedTopics(6, "log"), kfake.SeedTopics(9, "in"))
	for p := range int32(6) {
		produce(t, k, "", &kgo.Record{Topic: "log", Partition: p, Value: []byte("v")})
	}
	checks := Doctor(t.Context(), k, DoctorOptions{Topics: []stream.Topic{{Name: "in", Changelog: "log", Partitions: 6, Cleanup: stream.CleanupDelete}}})
	if c := find(t, checks, "topic in"); c.OK || c.Severity != Error || c.Detail != "partitions 6 to 8 of in were added, and are not read" ||
		!strings.HasPrefix(c.Remedy, "set the producers back to 6 partitions") {
		t.Errorf("%+v", c)
	}
}

func TestDoctorClock(t *testing.T) {
	_, k := fake(t, kfake.SeedTopics(1, "in"))
	topics := []stream.Topic{{Name: "in", Partitions: 1, Cleanup: stream.CleanupDelete, Config: map[string]string{"message.timestamp.type": "LogAppendTime"}}}
	if c := find(t, Doctor(t.Context(), k, DoctorOptions{Topics: topics}), "clock"); !c.OK || !strings.Contains(c.Detail, "not compared") {
		t.Errorf("%+v", c)
	}
	// The topic keeps the producer's time: it simulates a broker whose clock is ahead.
	produce(t, k, "", &kgo.Record{Topic: "in", Value: []byte("v"), Timestamp: time.Now().Add(time.Hour)})
	if c := find(t, Doctor(t.Context(), k, DoctorOptions{Topics: topics}), "clock"); c.OK || c.Severity != Warning || !strings.Contains(c.Detail, "in our future") {
		t.Errorf("%+v", c)
	}
}

func TestDoctorWithoutBrokers(t *testing.T) {
	c, k := fake(t)
	c.Close()
	checks := Doctor(t.Context(), k, DoctorOptions{Topics: events.Catalog("local", events.Layout{}), Timeout: 300 * time.Millisecond, StateDir: t.TempDir(), MinFree: 1})
	if b := find(t, checks, "brokers"); b.OK || b.Severity != Error || !strings.Contains(b.Detail, k.Brokers[0]) {
		t.Errorf("%+v", b)
	}
	find(t, checks, "disk space") // the disk is checked nevertheless
}

func TestDoctorDisk(t *testing.T) {
	look := func(dir string, minFree uint64) []Check {
		d := &doctor{DoctorOptions: DoctorOptions{StateDir: dir, Apps: []string{"app"}, MinFree: minFree}}
		d.disk()
		return d.checks
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if c := find(t, look(dir, 1), "state directory"); c.OK || c.Severity != Warning || !strings.Contains(c.Remedy, "chmod 0700") {
		t.Errorf("mode 0755: %+v", c)
	}
	if c := find(t, look(dir, 1<<62), "disk space"); c.OK || c.Severity != Error {
		t.Errorf("a full disk: %+v", c)
	}
	if c := find(t, look(filepath.Join(dir, "a", "b"), 1), "state directory"); !c.OK || !strings.Contains(c.Detail, "does not exist yet") {
		t.Errorf("a missing directory: %+v", c)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c := find(t, look(file, 1), "state directory"); c.OK || c.Severity != Error {
		t.Errorf("a file: %+v", c)
	}
}

// TestDoctorNamesTheLockHolder checks a lock of another process and a lock of this process. The
// check must not release the latter.
func TestDoctorNamesTheLockHolder(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "app")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	lockFile := filepath.Join(state, "LOCK")
	look := func() Check {
		d := &doctor{DoctorOptions: DoctorOptions{StateDir: dir, Apps: []string{"app"}}}
		d.disk()
		return find(t, d.checks, "state lock of app")
	}
	if c := look(); !strings.Contains(c.Detail, "nothing has run here") {
		t.Errorf("%+v", c)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHoldLock$")
	cmd.Env = append(os.Environ(), "WEIR_TEST_HOLD_LOCK="+lockFile)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // the process has the lock
		t.Fatal(err)
	}
	if c := look(); !strings.Contains(c.Detail, fmt.Sprintf("held by process %d", cmd.Process.Pid)) {
		t.Errorf("%+v", c)
	}
	_ = in.Close()
	_ = cmd.Wait()
	if c := look(); !strings.Contains(c.Detail, "free") {
		t.Errorf("%+v", c)
	}

	lock, err := vfs.Default.Lock(lockFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := os.WriteFile(filepath.Join(state, "holder"), fmt.Appendf(nil, "instance a, process %d, since now\n", os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := look(); !strings.Contains(c.Detail, "held by this process") {
		t.Errorf("%+v", c)
	}
	probe := exec.Command(os.Args[0], "-test.run=^TestHoldLock$")
	probe.Env = append(os.Environ(), "WEIR_TEST_HOLD_LOCK="+lockFile)
	if err := probe.Run(); err == nil {
		t.Error("the check released the lock of this process")
	}
}

// TestHoldLock runs in the other process of TestDoctorNamesTheLockHolder.
func TestHoldLock(t *testing.T) {
	file := os.Getenv("WEIR_TEST_HOLD_LOCK")
	if file == "" {
		t.Skip("runs only as a process of TestDoctorNamesTheLockHolder")
	}
	lock, err := vfs.Default.Lock(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	_, _ = os.Stdout.WriteString("!")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// The rights of a processor: its topics, its group, its transactional ids. A sink has no
// transactions.
func TestACLs(t *testing.T) {
	list := strings.Join(ACLs(proc()), "\n")
	for _, want := range []string{"--topic ads.events --operation Read", "--topic app.dlq --operation Read --operation Write", "--group app ", "--transactional-id app- --resource-pattern-type prefixed", "--transactional-id weir-dlq-app "} {
		if !strings.Contains(list, want) {
			t.Errorf("the list of ACLs lacks %q:\n%s", want, list)
		}
	}
	if list := strings.Join(ACLs(proc(), "first", "second"), "\n"); !strings.Contains(list, "\n--topic first --operation Describe\n--topic second --operation Describe\n") {
		t.Errorf("the former changelogs:\n%s", list)
	}
	if got := strings.Join(SinkACLs("g", "in", "out"), "\n"); got != "--topic in --operation Read --operation Describe --operation DescribeConfigs\n--topic out --operation Write --operation Describe\n--group g --operation Read --operation Describe\n--group g.skip --operation Read --operation Describe" {
		t.Error(got)
	}
}

// A cluster of one broker has one warning about it, and no error. More in-sync replicas than
// replicas are an error: of a topic, and of the settings.
func TestDoctorOfReplication(t *testing.T) {
	topics := events.Catalog("local", events.Layout{})
	look := func(d Defaults, opts ...kfake.Opt) (wrong []string) {
		t.Helper()
		_, k := fake(t, append(opts, kfake.ClusterID("dev"))...)
		steps, err := PlanTopics(t.Context(), k, topics, Defaults{ReplicationFactor: 1, MinInsync: 1})
		if err == nil {
			err = ApplySteps(t.Context(), k, steps)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range Doctor(t.Context(), k, DoctorOptions{Topics: topics, Defaults: d, DevCluster: "dev"}) {
			if !c.OK {
				wrong = append(wrong, fmt.Sprintf("%s %s: %s", c.Severity, c.Name, c.Detail))
			}
		}
		return wrong
	}
	if got := look(Defaults{ReplicationFactor: 3, MinInsync: 2}, kfake.NumBrokers(1)); len(got) != 1 || !strings.HasPrefix(got[0], "warning replication: the cluster has one broker") {
		t.Errorf("one broker: %q", got)
	}
	if got := look(Defaults{ReplicationFactor: 1, MinInsync: 2}, kfake.NumBrokers(1)); len(got) != 2 || !strings.Contains(got[1], "error topics: ") {
		t.Errorf("settings that contradict each other: %q", got)
	}
}

// A topic that asks for more in-sync replicas than it has can not be written.
func TestDoctorOfTooManyInSyncReplicas(t *testing.T) {
	d := &doctor{}
	d.DoctorOptions.setDefaults()
	_, k := fake(t, kfake.SeedTopics(1, "in"))
	cl := client(t, k)
	d.cl, d.adm = cl, kadm.NewClient(cl)
	two := "2"
	if _, err := d.adm.CreateTopic(t.Context(), 1, 1, map[string]*string{"min.insync.replicas": &two}, "one"); err != nil {
		t.Fatal(err)
	}
	list, err := d.adm.ListTopics(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	d.inSync(t.Context(), list, []string{"one"})
	if c := find(t, d.checks, "min.insync.replicas"); c.OK || c.Severity != Error || !strings.Contains(c.Detail, "one has 2 of 1 replicas") {
		t.Errorf("%+v", c)
	}
}

// The release of the brokers must be known to be new enough.
func TestDoctorOfReleases(t *testing.T) {
	for text, ok := range map[string]bool{
		"v4.0": true, "v4.3": true, "at least v4.2": true, "v10.1": true,
		"between v1.0 and v1.1": false, "v3.9": false, "unknown custom version": false,
	} {
		d := &doctor{}
		d.release([]string{text})
		if c := d.checks[0]; len(d.checks) != 1 || c.OK != ok || !ok && !strings.Contains(c.Detail, "4.0 or newer is needed") {
			t.Errorf("%s: %+v", text, d.checks)
		}
	}
	d := &doctor{}
	if d.release([]string{"v4.0", "v4.1"}); d.checks[0].OK || !strings.Contains(d.checks[0].Remedy, "finish the upgrade") {
		t.Errorf("%+v", d.checks)
	}
}
