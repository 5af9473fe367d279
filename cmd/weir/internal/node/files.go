package node

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/weirhq/weir/internal/config"
)

// CheckFiles reads the files that settings name, as a process does at its start, and returns a
// problem for each that cannot be used.
func CheckFiles(c *config.Config) (problems []config.Problem) {
	add := func(err error) {
		var bad *ConfigError
		if errors.As(err, &bad) {
			problems = append(problems, config.Problem{What: bad.Error(), Fix: bad.Do})
		}
	}
	_, err := NewAccess(c)
	add(err)
	_, err = serverTLS(c)
	add(err)
	kafkaFiles("kafka", c.Kafka, add)
	for _, d := range c.Peers() {
		kafkaFiles(peerSection(d), d.Kafka(), add)
	}
	return problems
}

// kafkaFiles reads the files of a section of the configuration, and passes the problems to add.
func kafkaFiles(section string, k config.Kafka, add func(error)) {
	_, err := cluster(section, k)
	add(err)
	if t := k.TLS; t.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile); err != nil {
			add(
				&ConfigError{
					fmt.Sprintf("cannot use %s.tls.cert_file and %s.tls.key_file", section, section), err,
					"give PEM files of a certificate and its key",
				})
		}
	}
	if s := k.SASL; s.PasswordFile != "" {
		if _, _, err := s.Credentials(); err != nil {
			add(&ConfigError{"cannot use " + section + ".sasl.password_file", err, ""})
		}
	}
}
