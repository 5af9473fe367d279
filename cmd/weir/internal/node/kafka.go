package node

import (
	"crypto/tls"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
)

// Kafka returns the connection settings of the brokers. Its error is a *ConfigError.
func Kafka(c *config.Config) (kafka.Cluster, error) {
	k := kafka.Cluster{Brokers: c.Kafka.Brokers}
	if t := c.Kafka.TLS; t.Enabled {
		cfg := &tls.Config{MinVersion: tls.VersionTLS12}
		var err error
		if cfg.RootCAs, err = authorities("kafka.tls.ca_file", t.CAFile); err != nil {
			return k, err
		}
		if t.CertFile != "" {
			// Read at every handshake, so that a renewed certificate needs no restart.
			cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
				return &pair, err
			}
		}
		k.WithTLS(cfg)
	}
	if s := c.Kafka.SASL; s.Mechanism != "" {
		if err := k.WithSASL(s.Mechanism, s.Credentials); err != nil {
			return k, &ConfigError{"cannot authenticate at Kafka", err, "correct kafka.sasl.mechanism"}
		}
	}
	return k, nil
}
