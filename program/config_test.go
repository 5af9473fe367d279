package program_test

import (
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/program"
)

// parse returns a configuration after SetFlags and the flags.
func parse(t *testing.T, c program.Config, args ...string) program.Config {
	t.Helper()
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	c.SetFlags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSetFlags: a flag that is not given leaves what the caller has set.
func TestSetFlags(t *testing.T) {
	c := parse(t, program.Config{})
	if !slices.Equal(c.Runtime.Kafka.Brokers, []string{"127.0.0.1:9092"}) || c.Runtime.Dir != "data" || c.Listen != "127.0.0.1:0" || c.OpsListen != "127.0.0.1:0" || c.Topics.ReplicationFactor != 0 {
		t.Errorf("defaults: %+v", c)
	}
	own := program.Config{
		Runtime: processors.Config{Kafka: kafka.Cluster{Brokers: []string{"k1:9092", "k2:9092"}}, Dir: "state", Instance: "a"},
		Topics:  kafkaadmin.TopicOptions{Partitions: 24, ReplicationFactor: 2}, Listen: "127.0.0.1:7000", OpsListen: "127.0.0.1:7001",
	}
	if c = parse(t, own); !slices.Equal(c.Runtime.Kafka.Brokers, own.Runtime.Kafka.Brokers) || c.Runtime.Dir != "state" || c.Runtime.Instance != "a" ||
		c.Topics.Partitions != 24 || c.Topics.ReplicationFactor != 2 || c.Listen != own.Listen || c.OpsListen != own.OpsListen {
		t.Errorf("without flags: %+v", c)
	}
	c = parse(t, own, "-brokers", "a:1, b:2", "-partitions", "6", "-replication-factor", "3", "-dir", "d", "-instance", "i", "-listen", "127.0.0.1:1", "-ops-listen", "127.0.0.1:2")
	if !slices.Equal(c.Runtime.Kafka.Brokers, []string{"a:1", "b:2"}) || c.Topics.Partitions != 6 || c.Topics.ReplicationFactor != 3 || c.Runtime.Dir != "d" || c.Runtime.Instance != "i" || c.Listen != "127.0.0.1:1" || c.OpsListen != "127.0.0.1:2" {
		t.Errorf("with flags: %+v", c)
	}
}

// TestRefusedAddresses: addresses that other processes could not use are errors of New.
func TestRefusedAddresses(t *testing.T) {
	for want, change := range map[string]func(*program.Config){
		`Advertise "a:1" is the address of an API, and Listen is empty`: func(c *program.Config) { c.Advertise = "a:1" },
		`Advertise "a:2" is the address of an API, and Listen is empty`: func(c *program.Config) { c.OpsListen, c.Advertise = "127.0.0.1:0", "a:2" },
		`Advertise "host" is not host:port`:                             func(c *program.Config) { c.Listen, c.Advertise = "127.0.0.1:0", "host" },
		`Advertise "0.0.0.0:1" is not host:port of one host`:            func(c *program.Config) { c.Listen, c.Advertise = "127.0.0.1:0", "0.0.0.0:1" },
		`Listen "0.0.0.0:1" is every interface`:                         func(c *program.Config) { c.Listen = "0.0.0.0:1" },
		`Listen ":1" is every interface`:                                func(c *program.Config) { c.Listen = ":1" },
		`Listen "[::]:1" is every interface`:                            func(c *program.Config) { c.Listen = "[::]:1" },
		`the address "127.0.0.1" is not host:port (`:                    func(c *program.Config) { c.OpsListen = "127.0.0.1" },
	} {
		c := config(t, kafka.Cluster{Brokers: []string{"127.0.0.1:1"}})
		change(&c)
		if p, err := program.New(c, count()); p != nil || !errors.Is(err, processors.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %s", p, err, want)
		}
	}
}
