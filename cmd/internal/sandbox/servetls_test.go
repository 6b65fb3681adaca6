package sandbox_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// newCertificate writes a certificate for 127.0.0.1 and its key to files, and returns a pool that trusts it.
func newCertificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(certFile, certificate, 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	roots = x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(certificate))
	return certFile, keyFile, roots
}

func TestServeSCIM_TLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, roots := newCertificate(t)
	s, err := sandbox.ServeSCIM(t.Context(),
		sandbox.SCIMOptions{Listen: "127.0.0.1:0", Tokens: []string{scimToken}, TLSCert: certFile, TLSKey: keyFile})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	require.True(t, strings.HasPrefix(s.URL(), "https://127.0.0.1:"), s.URL())
	var greeting bytes.Buffer
	s.PrintWelcome(&greeting)
	require.Contains(t, greeting.String(), s.URL())

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/Users", strings.NewReader(userBody("ann")))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+scimToken)
	res, err := client.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusCreated, res.StatusCode, "%s", text)
	require.True(t, strings.HasPrefix(res.Header.Get("Location"), s.URL()+"/Users/"), res.Header)
	require.GreaterOrEqual(t, res.TLS.Version, uint16(tls.VersionTLS12))
	require.Equal(t, 2, res.ProtoMajor)

	_, err = (&http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}}).Get(
		s.URL())
	require.ErrorContains(t, err, "protocol version", "TLS 1.1 is rejected")
	_, err = http.Get(s.URL())
	require.ErrorContains(t, err, "certificate", "the certificate is not in the system pool")
	plain, err := http.Get("http" + strings.TrimPrefix(s.URL(), "https") + "/Users")
	require.NoError(t, err)
	require.NoError(t, plain.Body.Close())
	require.Equal(t, http.StatusBadRequest, plain.StatusCode, "plaintext requests are rejected")
}

func TestServeSCIM_RejectsMismatchedCertificate(t *testing.T) {
	t.Parallel()
	certFile, _, _ := newCertificate(t)
	_, otherKey, _ := newCertificate(t)
	for want, o := range map[string]sandbox.SCIMOptions{
		"two files":                         {TLSKey: otherKey},
		"no such file":                      {TLSCert: certFile, TLSKey: filepath.Join(t.TempDir(), "key.pem")},
		"private key does not match public": {TLSCert: certFile, TLSKey: otherKey},
	} {
		require.ErrorContains(t, o.Check(), want)
		o.Listen = "127.0.0.1:0"
		_, err := sandbox.ServeSCIM(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}

// TestPlaintextWarning_BeyondLoopback checks that the server warns once about plaintext if other machines can reach its address.
func TestPlaintextWarning_BeyondLoopback(t *testing.T) {
	for _, test := range []struct {
		ip   string
		want int
	}{
		{"127.0.0.1", 0}, {"127.8.8.8", 0}, {"::1", 0}, {"0.0.0.0", 1}, {"::", 1}, {"192.0.2.7", 1},
	} {
		var log bytes.Buffer
		sandbox.WarnOfPlainText(t.Context(), slog.New(slog.NewJSONHandler(&log, nil)), &net.TCPAddr{IP: net.ParseIP(test.ip), Port: 8080})
		require.Equal(t, test.want, strings.Count(log.String(), "without TLS"), test.ip)
		require.Equal(t, test.want, strings.Count(log.String(), `"level":"WARN"`), test.ip)
	}
}
