package node

import (
	"crypto/tls"

	"github.com/prometheus/client_golang/prometheus"
)

// certificateCollector is the metric of the time at which the API's certificate ends. It reads the
// certificate that the next handshake uses, so a replaced file changes it. Without TLS, and while
// the files cannot be used, there is no series.
type certificateCollector struct {
	desc *prometheus.Desc
	tls  *tls.Config // nil: no TLS
}

func newCertificateCollector(c *tls.Config) *certificateCollector {
	return &certificateCollector{prometheus.NewDesc("weir_api_certificate_expiry_timestamp_seconds",
		"Unix time at which the TLS certificate of the API ends. Processes and commands cannot connect after it.", nil, nil), c}
}

// Describe implements prometheus.Collector.
func (c *certificateCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *certificateCollector) Collect(ch chan<- prometheus.Metric) {
	if c.tls == nil {
		return
	}
	pair, err := c.tls.GetCertificate(nil)
	if err != nil || pair.Leaf == nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(pair.Leaf.NotAfter.Unix()))
}
