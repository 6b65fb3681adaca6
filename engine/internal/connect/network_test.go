package connect_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
)

// TestEgress_Addresses checks for each egress range which IP addresses a client may connect to.
func TestEgress_Addresses(t *testing.T) {
	const always, private, machine, never = "always", "any and private", "any", "never"
	for address, want := range map[string]string{
		"93.184.216.34": always, "2606:2800:220:1::1": always, "100.63.255.255": always, "64:ff9b::5db8:d822": always,
		"127.0.0.1": machine, "127.8.9.10": machine, "::1": machine, "::ffff:127.0.0.1": machine, "10.1.2.3": private,
		"172.31.0.1": private, "192.168.0.1": private, "100.64.0.1": private, "fd12::1": private, "64:ff9b::a01:203": private,
		"0.1.2.3":         private,
		"169.254.169.254": never, "::ffff:169.254.169.254": never, "fe80::1": never, "fe80::1%eth0": never, "fd00:ec2::254": never,
		"168.63.129.16": never, "100.100.100.200": never, "0.0.0.0": never, "::": never, "224.0.0.1": never, "ff02::1": never,
		"64:ff9b::a9fe:a9fe": never,
	} {
		a := netip.MustParseAddr(address)
		require.Equal(t, want != never, connect.PolicyOf(engine.Egress{}).Check(a) == nil, address)
		require.Equal(t, want == always || want == private, connect.PolicyOf(engine.Egress{Range: engine.EgressPrivate}).Check(a) == nil, address)
		require.Equal(t, want == always, connect.PolicyOf(engine.Egress{Range: engine.EgressPublic}).Check(a) == nil, address)
	}
	allowing := connect.PolicyOf(engine.Egress{Range: engine.EgressPublic, Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	require.NoError(t, allowing.Check(netip.MustParseAddr("10.1.2.3")))
	require.EqualError(t, allowing.Check(netip.MustParseAddr("10.2.0.1")), "10.2.0.1 is a private address; connections to it are not allowed")
}

// TestEgress_BlocksRequests checks that a client sends no request to a denied address, neither to the target nor to the token endpoint.
func TestEgress_BlocksRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was received") }))
	defer server.Close()
	network := &connect.Network{Egress: engine.Egress{Range: engine.EgressPublic}}
	client, err := connect.New(connect.Config{BaseURL: server.URL, Network: network})
	require.NoError(t, err)
	got := client.Do(t.Context(), users)
	require.Zero(t, got.Status)
	require.ErrorContains(t, got.Err, "127.0.0.1 is this machine itself; connections to it are not allowed")

	client, err = connect.New(connect.Config{BaseURL: "https://target.example.com", Network: network, Auth: engine.Auth{
		Scheme: engine.ClientCredentials, Secret: "s", OAuth: engine.OAuth{TokenURL: server.URL, ClientID: "me"},
	}})
	require.NoError(t, err)
	require.ErrorContains(t, client.Do(t.Context(), users).Err, "this machine itself", "the token endpoint is protected too")
}

// authority signs certificates for a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	PEM  string
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.cert, a.key, a.PEM, _ = a.issue("authority", true)
	return a
}

func (a *authority) issue(name string, ca bool) (*x509.Certificate, *ecdsa.PrivateKey, string, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: ca, BasicConstraintsValid: ca,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	return cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// TestDo_TLS checks CA, client certificate and minimum version of a target, and that New rejects invalid TLS settings.
func TestDo_TLS(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	_, _, chain, key := ours.issue("localhost", false)
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	server := func(c *tls.Config) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/scim+json")
			_, _ = w.Write([]byte(`{"id":"1"}`))
		}))
		c.Certificates = []tls.Certificate{pair}
		s.TLS = c
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // failed handshakes are expected
		s.StartTLS()
		t.Cleanup(s.Close)
		return "https://localhost:" + netip.MustParseAddrPort(s.Listener.Addr().String()).String()[len("127.0.0.1:"):]
	}
	plain := server(&tls.Config{})
	mutual := server(&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool})
	old := server(&tls.Config{MaxVersion: tls.VersionTLS12})
	_, _, certificate, secret := ours.issue("engine", false)

	for name, c := range map[string]struct {
		url string
		tls engine.TLS
		ok  bool
	}{
		"an authority that the system does not know":   {plain, engine.TLS{}, false},
		"the authority is given":                       {plain, engine.TLS{CA: ours.PEM}, true},
		"another authority is given":                   {plain, engine.TLS{CA: others.PEM}, false},
		"a client certificate is required":             {mutual, engine.TLS{CA: ours.PEM}, false},
		"a client certificate is given":                {mutual, engine.TLS{CA: ours.PEM, Certificate: certificate, Key: secret}, true},
		"the target speaks 1.2":                        {old, engine.TLS{CA: ours.PEM}, true},
		"the target speaks 1.2 but 1.3 is the minimum": {old, engine.TLS{CA: ours.PEM, MinVersion: "1.3"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			network := &connect.Network{}
			defer network.CloseIdleConnections()
			client, err := connect.New(connect.Config{BaseURL: c.url, TLS: c.tls, Network: network})
			require.NoError(t, err)
			got := client.Do(t.Context(), users)
			require.Equal(t, c.ok, got.Err == nil, "%v", got.Err)
		})
	}
	for want, c := range map[string]engine.TLS{
		"TLS: minimum version \"1.1\": want 1.2 or 1.3":                       {MinVersion: "1.1"},
		"TLS: the CA contains no PEM certificate":                             {CA: "nonsense"},
		"TLS: a client certificate requires both the certificate and its key": {Certificate: certificate},
	} {
		_, err := connect.New(connect.Config{BaseURL: plain, TLS: c})
		require.EqualError(t, err, want)
	}
	_, err = connect.New(connect.Config{BaseURL: plain, TLS: engine.TLS{Certificate: certificate, Key: key}})
	require.ErrorContains(t, err, "private key does not match public key")
	_, err = connect.New(
		connect.Config{BaseURL: plain, TLS: engine.TLS{MinVersion: "1.3"}, Network: &connect.Network{Transport: http.DefaultTransport}})
	require.ErrorContains(t, err, "do not apply to Options.Transport")
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", engine.TLS{Key: secret}, engine.TLS{Key: secret}, engine.TLS{Key: secret}), "PRIVATE KEY")
}

// TestAuth_CustomHeader checks which headers may carry the secret, and that the recorded exchange hides it.
func TestAuth_CustomHeader(t *testing.T) {
	for name, ok := range map[string]bool{"X-Api-Key": true, "x-scim-token": true, "Authorization": true, "": false, "a b": false,
		"content-type": false, "Host": false} {
		got, x := "", ""
		h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get(name) })
		auth := engine.Auth{Scheme: engine.Header, Header: name, Secret: "h3ader-secret"}
		if _, err := connect.New(connect.Config{BaseURL: "http://127.0.0.1", Auth: auth}); !ok {
			require.ErrorContains(t, err, "cannot carry the secret")
			continue
		}
		_, seen := do(t, connect.Config{Auth: auth}, users, h)
		x = fmt.Sprint(seen)
		require.Equal(t, "h3ader-secret", got)
		require.NotContains(t, x, "h3ader-secret")
	}
}
