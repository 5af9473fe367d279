package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// crossChecks returns what is wrong between settings that are each right on their own.
func (c *Config) crossChecks() []Problem {
	var problems []Problem
	rule := func(broken bool, key, what, fix string) {
		if broken {
			problems = append(problems, Problem{Where: c.where(key), Key: key, What: key + " " + what, Fix: fix})
		}
	}
	p := c.Processor
	rule(p.CommitInterval > p.CommitIntervalMax, "processor.commit_interval",
		fmt.Sprintf("= %s is above processor.commit_interval_max = %s", showDuration(p.CommitInterval), showDuration(p.CommitIntervalMax)),
		"lower the first or raise the second")
	rule(p.CommitIntervalMax > p.TransactionTimeout/2, "processor.commit_interval_max",
		fmt.Sprintf("= %s is above half of processor.transaction_timeout = %s, so the broker would abort transactions that are only slow",
			showDuration(p.CommitIntervalMax), showDuration(p.TransactionTimeout)),
		"lower the first or raise the second")
	rule(p.CommitBytes > c.Memory/2, "processor.commit_bytes",
		fmt.Sprintf("= %s is above half of memory = %s", p.CommitBytes, c.Memory), "lower the first or raise the second")
	rule(c.Topics.MinInSync > c.Topics.ReplicationFactor, "topics.min_insync",
		fmt.Sprintf("= %d is above topics.replication_factor = %d, so nothing could be written", c.Topics.MinInSync, c.Topics.ReplicationFactor),
		"lower the first or raise the second")
	rule(slices.Contains(c.Peers, c.DC), "peers", fmt.Sprintf("names this datacentre, %q", c.DC), "list only the others")
	rule(c.API.Listen == c.API.OpsListen && c.API.Listen[len(c.API.Listen)-2:] != ":0", "api.ops_listen",
		fmt.Sprintf("= %s is the address of api.listen", c.API.OpsListen), "take another port")

	regions, _ := c.Leases.RegionEndpoints()
	rule(len(regions) == 0, "leases.regions", "is empty", "name at least one region")
	rule(len(regions) != len(slices.Compact(slices.Sorted(slices.Values(regions)))), "leases.regions", "names a region twice", "name each once")
	rule(c.Leases.Region != "" && !slices.Contains(regions, c.Leases.Region), "leases.region",
		fmt.Sprintf("= %s is not one of leases.regions", c.Leases.Region), "name one of "+strings.Join(regions, ", "))
	rule(c.Leases.Home != "" && !slices.Contains(regions, c.Leases.Home), "leases.home",
		fmt.Sprintf("= %s is not one of leases.regions", c.Leases.Home), "name one of "+strings.Join(regions, ", "))

	b := c.Leases.Balancer
	rule(b.Tick > b.Every, "leases.balancer.tick", fmt.Sprintf("= %s is above leases.balancer.every = %s", showDuration(b.Tick), showDuration(b.Every)), "lower the first or raise the second")
	sweep := c.Leases.Bridge.Sweep
	rule(sweep > 0 && sweep < time.Minute, "leases.bridge.sweep", fmt.Sprintf("= %s would read the whole table without a pause", showDuration(sweep)), "take 1m or more, or 0s for never")

	a := c.API
	for _, at := range []struct{ key, addr string }{{"api.listen", a.Listen}, {"api.ops_listen", a.OpsListen}} {
		host, _ := hostPort(at.addr)
		rule(!loopback(host) && (a.TLSCertFile == "" || a.TokenFile == ""), at.key,
			fmt.Sprintf("= %s can be reached from other machines, without TLS or a token", at.addr),
			"set api.tls_cert_file, api.tls_key_file and api.token_file, or listen on 127.0.0.1")
	}
	host, _ := hostPort(a.Listen)
	rule(!reachable(host) && a.Advertise == "", "api.listen", "= "+a.Listen+" is every interface, and the other processes need an address to ask",
		"set api.advertise to a name or address of this machine, with the port")
	rule((a.TLSCertFile == "") != (a.TLSKeyFile == ""), "api.tls_cert_file", "and api.tls_key_file go together", "set both or none")

	t := c.Kafka.TLS
	rule((t.CertFile == "") != (t.KeyFile == ""), "kafka.tls.cert_file", "and kafka.tls.key_file go together", "set both or none")
	rule(!t.Enabled && (t.CAFile != "" || t.CertFile != ""), "kafka.tls.enabled",
		"= false, yet certificates are given: the connection would be in the clear", "set it to true, or remove the files")

	s := c.Kafka.SASL
	some := s.Password.Reveal() != "" || s.PasswordFile != ""
	rule(s.Mechanism == "" && (s.User != "" || some), "kafka.sasl.mechanism",
		"is empty, yet a user or password is given: nobody would be signed in", "set it to PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	rule(s.Mechanism != "" && (s.User == "" || !some), "kafka.sasl.mechanism",
		"= "+s.Mechanism+" needs a user and a password", "set kafka.sasl.user, and kafka.sasl.password_file or WEIR_KAFKA_SASL_PASSWORD")
	rule(s.Password.Reveal() != "" && s.PasswordFile != "", "kafka.sasl.password_file",
		"and WEIR_KAFKA_SASL_PASSWORD are both set", "keep one")
	return problems
}

// Warnings returns what is allowed but rarely meant, for a person to read.
func (c *Config) Warnings() []Problem {
	var problems []Problem
	warn := func(odd bool, key, what, fix string) {
		if odd {
			problems = append(problems, Problem{Where: c.where(key), Key: key, What: key + " " + what, Fix: fix})
		}
	}
	k := c.Kafka
	warn(k.SASL.Mechanism == "PLAIN" && !k.TLS.Enabled, "kafka.sasl.mechanism",
		"= PLAIN without TLS sends the password in the clear", "set kafka.tls.enabled, or use SCRAM-SHA-512")
	warn(c.Topics.ReplicationFactor < 3 || c.Topics.MinInSync < 2, "topics.replication_factor",
		fmt.Sprintf("= %d with topics.min_insync = %d loses written events when a broker dies", c.Topics.ReplicationFactor, c.Topics.MinInSync),
		"use 3 and 2 where there are three brokers")
	warn(c.Spend.DuplicateWindow == 0, "spend.duplicate_window", "= 0s counts an event again whenever it is sent again", "leave it at 10m")
	warn(c.Leases.Bridge.Sweep == 0, "leases.bridge.sweep", "= 0s never finds what a stream lost without a word", "leave it at 24h")
	warn(c.Processor.SessionTimeout < 6*time.Second, "processor.session_timeout",
		"is below 6s, which brokers refuse unless group.min.session.timeout.ms is lowered", "use 6s or more")
	return problems
}
