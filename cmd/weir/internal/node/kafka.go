package node

import (
	"crypto/tls"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
)

// Kafka returns the connection settings of the brokers of this datacentre. Its error is a
// *ConfigError.
func Kafka(c *config.Config) (kafka.Cluster, error) { return cluster("kafka", c.Kafka) }

// PeerKafka returns the connection settings of the brokers of another datacentre. Its error is a
// *ConfigError.
func PeerKafka(d config.DC) (kafka.Cluster, error) { return cluster(peerSection(d), d.Kafka()) }

// peerSection names the settings of another datacentre in errors.
func peerSection(d config.DC) string { return "dcs[" + d.Name + "]" }

// cluster returns the connection settings of a section of the configuration.
func cluster(section string, s config.Kafka) (kafka.Cluster, error) {
	k := kafka.Cluster{Brokers: s.Brokers}
	if t := s.TLS; t.Enabled {
		cfg := &tls.Config{MinVersion: tls.VersionTLS12}
		var err error
		if cfg.RootCAs, err = authorities(section+".tls.ca_file", t.CAFile); err != nil {
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
	if s.SASL.Mechanism != "" {
		if err := k.WithSASL(s.SASL.Mechanism, s.SASL.Credentials); err != nil {
			return k, &ConfigError{"cannot authenticate at Kafka", err, "correct " + section + ".sasl.mechanism"}
		}
	}
	return k, nil
}
