package ops

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

const (
	certValidity = 365 * 24 * time.Hour
	certRenewal  = 30 * 24 * time.Hour // a certificate that ends within this time is replaced
)

// newTLSCmd returns `weir tls`.
func newTLSCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "tls", Short: "Create a certificate and a token for processes on several machines"}
	cli.RefuseServer(c, "it writes files on this machine")
	var dir string
	var hosts []string
	create := &cobra.Command{
		Use:   "create --host NAME,...",
		Short: "Write a self-signed certificate, its key and a token, unless they exist",
		Long: "Write cert.pem, key.pem and token to a directory, for deployments without their own certificate\n" +
			"authority. Copy the files to all machines and set:\n\n" +
			"  api.tls_cert_file and api.ca_file: cert.pem\n" +
			"  api.tls_key_file: key.pem\n" +
			"  api.token_file: token\n\n" +
			"The certificate is self-signed and valid for a year. An existing certificate is replaced if it ends\n" +
			"within 30 days or does not name all hosts. An existing token is kept.",
		Example: "  weir tls create --dir /etc/weir --host weir-0.example,weir-1.example",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, h := range hosts {
				if !isHost(h) {
					return cli.UsageError(fmt.Sprintf("--host %q is not a host name or an IP address", h),
						"write names without a port and without blanks, such as --host weir-0.example,10.0.0.7")
				}
			}
			return createTLS(a, dir, slices.Concat(hosts, []string{"localhost", "127.0.0.1", "::1"}))
		},
	}
	create.Flags().StringVar(&dir, "dir", ".", "directory of the files")
	create.Flags().StringSliceVar(&hosts, "host", nil,
		"DNS names and IP addresses of the machines, without ports; localhost is always included")
	c.AddCommand(create)
	return c
}

// isHost reports whether a certificate can name h: an IP address, or a DNS name. The first label
// of a name may be *.
func isHost(h string) bool {
	if net.ParseIP(h) != nil {
		return true
	}
	for label := range strings.SplitSeq(strings.TrimPrefix(h, "*."), ".") {
		legal := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
		}
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool { return !legal(r) }) {
			return false
		}
	}
	return len(h) <= 253
}

func createTLS(a *cli.App, dir string, hosts []string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	cert, key, token := at("cert.pem"), at("key.pem"), at("token")
	until, ok := validCertificate(cert, key, hosts, time.Now())
	if !ok {
		c, k, err := selfSigned(hosts, time.Now())
		if err != nil {
			return cli.Fail(cli.ExitFailed, "cannot create a certificate", err, "correct --host")
		}
		// The key first: a certificate without its key is replaced by the next run.
		err = os.WriteFile(key, k, 0o600)
		if err == nil {
			err = os.WriteFile(cert, c, 0o644) //nolint:gosec // a certificate is public
		}
		if err != nil {
			return cli.Fail(cli.ExitIO, "cannot write the certificate", err, "create the directory, or give another --dir")
		}
		until = time.Now().Add(certValidity)
		a.Notef("wrote %s and %s", cert, key)
	}
	text, err := os.ReadFile(token)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		secret := make([]byte, 16)
		_, _ = rand.Read(secret) // never fails
		err = os.WriteFile(token, []byte(hex.EncodeToString(secret)+"\n"), 0o600)
		a.Notef("wrote %s", token)
	}
	if err != nil {
		return cli.Fail(cli.ExitIO, "cannot write the token", err, "create the directory, or give another --dir")
	}
	a.Notef("set api.tls_cert_file and api.ca_file to %s, api.tls_key_file to %s, api.token_file to %s; the certificate is valid until %s",
		cert, key, token, until.Format(time.DateOnly))
	return nil
}

// validCertificate reports whether the files are a certificate and its key, for all hosts and for
// longer than certRenewal, and when the certificate ends.
func validCertificate(cert, key string, hosts []string, now time.Time) (until time.Time, ok bool) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return until, false
	}
	missing := slices.ContainsFunc(hosts, func(h string) bool { return pair.Leaf.VerifyHostname(h) != nil })
	return pair.Leaf.NotAfter, !missing && pair.Leaf.NotAfter.After(now.Add(certRenewal))
}

// selfSigned returns a self-signed certificate and its key, both in PEM.
func selfSigned(hosts []string, now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"weir"}, CommonName: hosts[0]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certValidity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("for %q: %w", hosts, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(
		&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}
