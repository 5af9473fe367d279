package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files in the directory that envCerts names. A broker wants its key and its certificate in one
// file.
const (
	caFile      = "ca.pem"
	caKeyFile   = "ca-key.pem"
	brokerFile  = "broker.pem"
	expiredFile = "expired.pem" // the same names as brokerFile's; not valid any more
)

// authority signs the certificates of brokers, of clients and of the API.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority creates an authority, and writes it to dir.
func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	a := &authority{template, key}
	cert, secret, err := a.sign(template, key)
	if err != nil {
		return nil, err
	}
	return a, errors.Join(os.WriteFile(filepath.Join(dir, caFile), cert, 0o600), os.WriteFile(filepath.Join(dir, caKeyFile), secret, 0o600))
}

// theAuthority returns the authority that the brokers trust.
func theAuthority(t *testing.T) *authority {
	t.Helper()
	dir := os.Getenv(envCerts)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("the key of the authority is a %T", pair.PrivateKey)
	}
	return &authority{pair.Leaf, key}
}

// sign returns a certificate for key and the key, both in PEM.
func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) (cert, secret []byte, err error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}

// issue returns a certificate for this machine that is valid until then, and its key.
func (a *authority) issue(until time.Time) (cert, secret []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "weir"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(dockerHost()); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else {
		template.DNSNames = append(template.DNSNames, dockerHost())
	}
	return a.sign(template, key)
}

// writeBrokerCerts writes an authority and the certificates of the brokers to dir.
func writeBrokerCerts(dir string) error {
	a, err := newAuthority(dir)
	if err != nil {
		return err
	}
	for name, until := range map[string]time.Time{brokerFile: time.Now().Add(24 * time.Hour), expiredFile: time.Now().Add(-time.Hour)} {
		cert, secret, err := a.issue(until)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), append(secret, cert...), 0o600)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// certify writes a certificate that is valid until then to cert.pem in dir, and its key to key.pem.
func (a *authority) certify(t *testing.T, dir string, until time.Time) {
	t.Helper()
	cert, secret, err := a.issue(until)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o600), os.WriteFile(filepath.Join(dir, "key.pem"), secret, 0o600)); err != nil {
		t.Fatal(err)
	}
}
