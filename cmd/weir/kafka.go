package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
)

// kafka is how the configuration reaches the brokers.
func kafka(c *config.Config) (processors.Kafka, error) {
	k := processors.Kafka{Brokers: c.Kafka.Brokers}
	if t := c.Kafka.TLS; t.Enabled {
		cfg := &tls.Config{MinVersion: tls.VersionTLS12}
		if t.CAFile != "" {
			pem, err := os.ReadFile(t.CAFile)
			if err != nil {
				return k, fail(exitConfig, "cannot read kafka.tls.ca_file", err, "check the path")
			}
			if cfg.RootCAs = x509.NewCertPool(); !cfg.RootCAs.AppendCertsFromPEM(pem) {
				return k, fail(exitConfig, "cannot use kafka.tls.ca_file", errors.New("no certificate in "+t.CAFile), "give a PEM file of certificates")
			}
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
			return k, fail(exitConfig, "cannot sign in to Kafka", err, "correct kafka.sasl.mechanism")
		}
	}
	return k, nil
}
