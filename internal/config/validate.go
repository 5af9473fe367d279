package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// conflicts returns the problems between settings that are valid on their own.
func (c *Config) conflicts() []Problem {
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
		fmt.Sprintf("= %s is above half of processor.transaction_timeout = %s, so that the broker would abort slow transactions",
			showDuration(p.CommitIntervalMax), showDuration(p.TransactionTimeout)),
		"lower the first or raise the second")
	rule(p.CommitBytes > c.Memory/2, "processor.commit_bytes",
		fmt.Sprintf("= %s is above half of memory = %s", p.CommitBytes, c.Memory), "lower the first or raise the second")
	rule(c.Topics.MinInSync > c.Topics.ReplicationFactor, "topics.min_insync",
		fmt.Sprintf("= %d is above topics.replication_factor = %d, so that nothing could be written", c.Topics.MinInSync,
			c.Topics.ReplicationFactor),
		"lower the first or raise the second")
	rule(len(c.DCs) > 0 && len(c.Peers()) == len(c.DCs), dcsKey,
		fmt.Sprintf("lacks this datacentre, %q: it has %s", c.DC, strings.Join(c.PeerNames(), ", ")),
		"list all datacentres, in the same order everywhere, or correct dc")
	rule(c.API.Listen == c.API.OpsListen && c.API.Listen[len(c.API.Listen)-2:] != ":0", "api.ops_listen",
		fmt.Sprintf("= %s is the address of api.listen", c.API.OpsListen), "use another port")

	regions, _ := c.Leases.RegionEndpoints()
	rule(len(regions) == 0, "leases.regions", "is empty", "name at least one region")
	rule(len(regions) != len(slices.Compact(slices.Sorted(slices.Values(regions)))), "leases.regions", "names a region twice",
		"name each region once")
	rule(c.Leases.Region != "" && !slices.Contains(regions, c.Leases.Region), "leases.region",
		fmt.Sprintf("= %s is not one of leases.regions", c.Leases.Region), "name one of "+strings.Join(regions, ", "))
	rule(c.Leases.Home != "" && !slices.Contains(regions, c.Leases.Home), "leases.home",
		fmt.Sprintf("= %s is not one of leases.regions", c.Leases.Home), "name one of "+strings.Join(regions, ", "))

	b := c.Leases.Balancer
	rule(b.Tick > b.Every, "leases.balancer.tick_interval",
		fmt.Sprintf("= %s is above leases.balancer.plan_interval = %s", showDuration(b.Tick), showDuration(b.Every)),
		"lower the first or raise the second")
	sweep := c.Leases.Bridge.Sweep
	rule(sweep > 0 && sweep < time.Minute, "leases.bridge.sweep_interval",
		fmt.Sprintf("= %s would read the whole table without a pause", showDuration(sweep)), "use 1m or more, or 0s for never")

	a := c.API
	for _, at := range []struct{ key, addr string }{{"api.listen", a.Listen}, {"api.ops_listen", a.OpsListen}} {
		host, _ := hostPort(at.addr)
		rule(!loopback(host) && (a.TLSCertFile == "" || a.TokenFile == ""), at.key,
			fmt.Sprintf("= %s can be reached from other machines, without TLS or a token", at.addr),
			"set api.tls_cert_file, api.tls_key_file and api.token_file, or listen on 127.0.0.1")
	}
	host, _ := hostPort(a.Listen)
	rule(!reachable(host) && a.Advertise == "", "api.listen",
		"= "+a.Listen+" is every interface, which is not an address that other processes can connect to",
		"set api.advertise to a name or address of this machine, with the port")
	rule((a.TLSCertFile == "") != (a.TLSKeyFile == ""), "api.tls_cert_file", "and api.tls_key_file go together", "set both or none")

	c.Kafka.conflicts("set kafka.sasl.user, and kafka.sasl.password_file or WEIR_KAFKA_SASL_PASSWORD",
		func(broken bool, key, what, fix string) { rule(broken, "kafka."+key, what, fix) })
	others := []DC{{Name: "this datacentre", Brokers: c.Kafka.Brokers}}
	for _, d := range c.Peers() {
		rule(len(d.Brokers) == 0, dcsKey, "has no brokers of "+d.Name, "add them: its events are read there")
		for _, o := range others {
			for _, b := range d.Brokers {
				rule(slices.Contains(o.Brokers, b), dcsKey, fmt.Sprintf("has the broker %s for %s and for %s", b, d.Name, o.Name),
					"give each datacentre the brokers of its own Kafka: otherwise its events would be counted twice")
			}
		}
		others = append(others, d)
		d.Kafka().conflicts("set its sasl.user and sasl.password_file", func(broken bool, key, what, fix string) {
			rule(broken, dcsKey, "has "+d.Name+", whose "+key+" "+what, fix)
		})
	}
	return problems
}

// Warnings returns settings that are allowed but rarely intended. It looks at the permissions of
// files with secrets.
func (c *Config) Warnings() []Problem {
	var problems []Problem
	warn := func(unusual bool, key, what, fix string) {
		if unusual {
			problems = append(problems, Problem{Where: c.where(key), Key: key, What: key + " " + what, Fix: fix})
		}
	}
	const plain = "= PLAIN without TLS sends the password in plain text"
	warn(c.Kafka.plainText(), "kafka.sasl.mechanism", plain, "set kafka.tls.enabled, or use SCRAM-SHA-512")
	warn(c.Topics.ReplicationFactor < 3 || c.Topics.MinInSync < 2, "topics.replication_factor",
		fmt.Sprintf("= %d with topics.min_insync = %d loses acknowledged events if a broker fails", c.Topics.ReplicationFactor,
			c.Topics.MinInSync),
		"use 3 and 2 on a cluster of three or more brokers")
	warn(c.Spend.Retention > 0 && c.Spend.BillAfter > 0 && c.Spend.Retention < c.Spend.BillAfter+24*time.Hour, "spend.retention",
		fmt.Sprintf("= %s is less than a day longer than spend.bill_after = %s, so that the role pacing may not bill days in time",
			showDuration(c.Spend.Retention), showDuration(c.Spend.BillAfter)),
		"raise the first, or lower the second; spend.bill_after = 0s bills no days")
	warn(c.Leases.Bridge.Sweep == 0, "leases.bridge.sweep_interval",
		"= 0s disables the scan that finds changes which a stream lost without an error", "use the default of 24h")
	warn(c.Processor.SessionTimeout < 6*time.Second, "processor.session_timeout",
		"is below 6s, which brokers refuse unless group.min.session.timeout.ms is lowered", "use 6s or more")
	secret := func(key, setting, file string) {
		info, err := os.Stat(file)
		warn(err == nil && info.Mode().Perm()&0o004 != 0, key, setting+"= "+file+" can be read by every user of this machine",
			"run `chmod 600 "+file+"`")
	}
	secret("api.token_file", "", c.API.TokenFile)
	secret("api.tls_key_file", "", c.API.TLSKeyFile)
	secret("kafka.tls.key_file", "", c.Kafka.TLS.KeyFile)
	secret("kafka.sasl.password_file", "", c.Kafka.SASL.PasswordFile)
	for _, d := range c.Peers() {
		of := "has " + d.Name + ", whose "
		warn(d.Kafka().plainText(), dcsKey, of+"sasl.mechanism "+plain, "set its tls.enabled, or use SCRAM-SHA-512")
		secret(dcsKey, of+"tls.key_file ", d.TLS.KeyFile)
		secret(dcsKey, of+"sasl.password_file ", d.SASL.PasswordFile)
	}
	return problems
}

// plainText reports whether a password is sent without encryption.
func (k Kafka) plainText() bool { return k.SASL.Mechanism == "PLAIN" && !k.TLS.Enabled }

// conflicts passes the problems of a connection to rule. login is how to set user and password.
func (k Kafka) conflicts(login string, rule func(broken bool, key, what, fix string)) {
	t := k.TLS
	rule((t.CertFile == "") != (t.KeyFile == ""), "tls.cert_file", "and tls.key_file go together", "set both or none")
	rule(!t.Enabled && (t.CAFile != "" || t.CertFile != ""), "tls.enabled",
		"= false, but certificates are set: the connection would be in the clear", "set it to true, or remove the certificates")

	s := k.SASL
	password := s.Password.Reveal() != "" || s.PasswordFile != ""
	rule(s.Mechanism == "" && (s.User != "" || password), "sasl.mechanism",
		"is empty, but a user or password is set: the connection would not be authenticated",
		"set it to PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	rule(s.Mechanism != "" && (s.User == "" || !password), "sasl.mechanism",
		"= "+s.Mechanism+" needs a user and a password", login)
	rule(s.Password.Reveal() != "" && s.PasswordFile != "", "sasl.password_file",
		"and WEIR_KAFKA_SASL_PASSWORD are both set", "remove one of them")
}
