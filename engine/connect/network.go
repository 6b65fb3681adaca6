package connect

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/scimwright/scimwright/internal/egress"
)

// Limits of connections.
const (
	dialTimeout     = 10 * time.Second
	idleConnections = 16 // per host
	idleTimeout     = 90 * time.Second
	maxTransports   = 1024 // different TLS settings whose connections are kept
)

// Network owns what outlives a single Client: connections, and access tokens with their expiry. An engine has one. It may be
// used by several goroutines.
type Network struct {
	// Transport, when set, sends every request instead of the Network's own connections; Egress and TLS settings do not apply
	// then, and a target with TLS settings is refused.
	Transport http.RoundTripper
	// Egress is the policy for the addresses of targets and token endpoints.
	Egress Egress

	mu         sync.Mutex
	transports map[TLS]*http.Transport
	tokens     map[[sha256.Size]byte]*tokens
}

// EgressRange is the part of the network that an Egress allows.
type EgressRange string

// The ranges, from the widest to the narrowest.
const (
	EgressAny     EgressRange = "any"     // every address of a host: this machine, private networks and the Internet
	EgressPrivate EgressRange = "private" // without the loopback addresses of this machine
	// EgressPublic also excludes private ranges (RFC 1918, RFC 4193) and the others that are not reached over the Internet (RFC 6890):
	// for an identity provider whose tenants choose the base URLs.
	EgressPublic EgressRange = "public"
)

// Egress is the policy for the addresses of targets and their token endpoints. Link-local, multicast, unspecified and reserved addresses
// and the metadata services of cloud providers are rejected in every range. An IPv6 address that represents an IPv4 address counts as
// that one.
type Egress struct {
	// Range is the allowed part of the network. Default: EgressAny. An unknown value allows what EgressPublic does.
	Range EgressRange
	// Allow lists further addresses that are allowed, for example the network of a company's own targets.
	Allow []netip.Prefix
	// Own lists the addresses and ports at which this process itself serves targets. They are allowed in every range.
	Own []netip.AddrPort
}

func policyOf(e Egress) egress.Policy {
	return egress.Policy{Range: egress.Range(e.Range), Allow: e.Allow, Own: e.Own}
}

// EgressError reports that a host resolved to an address that must not be connected to. Nothing was sent.
type EgressError = egress.Error

// TLS holds the settings for https targets. Its zero value uses the system's certificate authorities, no client certificate
// and at least TLS 1.2.
type TLS struct {
	// CA holds PEM certificates that are trusted instead of the system's.
	CA string
	// Certificate and Key are the client certificate, with its chain, and its private key, as PEM. Both or none.
	Certificate, Key string
	// MinVersion is "1.2" or "1.3". Defaults to "1.2"; older versions are not spoken (RFC 8996).
	MinVersion string
}

// String hides the key, so that a printed Target does not tell it.
func (t TLS) String() string {
	switch {
	case t == TLS{}:
		return "system defaults"
	case t.Key != "":
		return "own settings, client certificate [redacted]"
	default:
		return "own settings"
	}
}

// GoString is String, for %#v.
func (t TLS) GoString() string { return t.String() }

// tlsConfig returns nil for the zero value.
func tlsConfig(t TLS) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	switch cmp.Or(t.MinVersion, "1.2") {
	case "1.2":
	case "1.3":
		c.MinVersion = tls.VersionTLS13
	default:
		return nil, fmt.Errorf("TLS: minimum version %q: want 1.2 or 1.3", t.MinVersion)
	}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("TLS: the CA holds no PEM certificate")
		}
	}
	if (t.Certificate == "") != (t.Key == "") {
		return nil, errors.New("TLS: a client certificate needs both the certificate and its key")
	}
	if t.Certificate != "" {
		pair, err := tls.X509KeyPair([]byte(t.Certificate), []byte(t.Key))
		if err != nil {
			return nil, fmt.Errorf("TLS: client certificate: %w", err) // does not quote the key
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// transport returns what sends requests under the settings. Targets with the same settings share their connections.
func (n *Network) transport(t TLS) (http.RoundTripper, error) {
	if n.Transport != nil {
		if t != (TLS{}) {
			return nil, errors.New("TLS: the settings cannot be combined with a transport of the embedder's own")
		}
		return n.Transport, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if have, ok := n.transports[t]; ok {
		return have, nil
	}
	c, err := tlsConfig(t)
	if err != nil {
		return nil, err
	}
	made := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout, Control: policyOf(n.Egress).Control}).DialContext,
		TLSClientConfig:     c,
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     idleTimeout,
		ForceAttemptHTTP2:   true,
	}
	if len(n.transports) >= maxTransports {
		n.closeIdle() // clients in use keep theirs
	}
	if n.transports == nil {
		n.transports = map[TLS]*http.Transport{}
	}
	n.transports[t] = made
	return made, nil
}

// CloseIdleConnections closes the connections that no request uses. The Network can still be used afterwards.
func (n *Network) CloseIdleConnections() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closeIdle()
}

// closeIdle also forgets the settings: those that nobody uses any more would be kept for ever, private keys among them.
func (n *Network) closeIdle() {
	for _, t := range n.transports {
		t.CloseIdleConnections()
	}
	clear(n.transports)
}
