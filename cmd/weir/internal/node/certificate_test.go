package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/obs"
)

// TestCertificateMetric: the metric is the end of the certificate in use, and a replaced
// certificate changes it. Without TLS, and while the files are damaged, there is no series.
func TestCertificateMetric(t *testing.T) {
	end := time.Unix(1_900_000_000, 0)
	var failure error
	c := newCertificateCollector(&tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { //nolint:gosec // no connection uses it
		return &tls.Certificate{Leaf: &x509.Certificate{NotAfter: end}}, failure
	}})
	for range 2 {
		if got := expiry(t, c); len(got) != 1 || got[0] != float64(end.Unix()) {
			t.Errorf("the metric is %v, want %d", got, end.Unix())
		}
		end = end.AddDate(1, 0, 0)
	}
	failure = errors.New("damaged")
	if got := expiry(t, c); got != nil {
		t.Errorf("%v with a damaged file", got)
	}
	if got := expiry(t, newCertificateCollector(nil)); got != nil {
		t.Errorf("%v without TLS", got)
	}
}

// expiry returns the values of the metric in a registry.
func expiry(t *testing.T, c *certificateCollector) (values []float64) {
	t.Helper()
	r := obs.NewRegistry("test")
	r.MustRegister(c)
	list, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.GetName() == "weir_api_certificate_expiry_timestamp_seconds" {
			for _, m := range f.GetMetric() {
				values = append(values, m.GetGauge().GetValue())
			}
		}
	}
	return values
}
