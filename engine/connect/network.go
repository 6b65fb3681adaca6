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
	"syscall"
	"time"
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
	// Egress says which addresses may be connected to.
	Egress Egress

	mu         sync.Mutex
	transports map[TLS]*http.Transport
	tokens     map[[sha256.Size]byte]*tokens
}

// Egress says which addresses a Network may connect to. It is asked with the address that a name resolved to, so a name that
// points somewhere else later does not get around it. Link-local, multicast and unspecified addresses and the metadata
// services of cloud providers are always refused.
type Egress struct {
	// PublicOnly also refuses loopback addresses and private ranges (RFC 1918, RFC 4193, RFC 6598): for an identity provider
	// whose tenants choose the base URLs.
	PublicOnly bool
	// Allow lists addresses that are allowed all the same, for example the network of a company's own targets.
	Allow []netip.Prefix
}

// metadata are addresses outside the link-local ranges at which a cloud provider hands credentials to whoever asks.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon EC2 over IPv6
	netip.MustParseAddr("168.63.129.16"),   // Azure's wire server
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
}

// private are the ranges that netip.Addr.IsPrivate does not know.
var private = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), // RFC 6598, shared with the provider
	netip.MustParsePrefix("0.0.0.0/8"),     // RFC 1122, this network
	netip.MustParsePrefix("64:ff9b:1::/48"),
}

// nat64 holds an IPv4 address in its last 32 bits (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Check returns an error that may be shown to an administrator when the address must not be connected to.
func (e Egress) Check(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, p := range e.Allow {
		if p.Contains(a) {
			return nil
		}
	}
	refuse := func(what string) error { return &EgressError{Address: a, Kind: what} }
	for _, m := range metadata {
		if a == m {
			return refuse("the metadata service of a cloud provider")
		}
	}
	switch {
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast(), a.IsInterfaceLocalMulticast():
		return refuse("a link-local address")
	case a.IsMulticast():
		return refuse("a multicast address")
	case a.IsUnspecified():
		return refuse("no address of a host")
	case !e.PublicOnly:
		return nil
	case a.IsLoopback():
		return refuse("this machine itself")
	case a.IsPrivate():
		return refuse("a private address")
	}
	for _, p := range private {
		if p.Contains(a) {
			return refuse("a private address")
		}
	}
	return nil
}

// EgressError says that a host resolved to an address that must not be connected to. Nothing was sent.
type EgressError struct {
	Address netip.Addr
	Kind    string
}

func (e *EgressError) Error() string {
	return fmt.Sprintf("%s is %s; connections to it are not allowed", e.Address, e.Kind)
}

// control runs after name resolution and before the connection is made.
func (e Egress) control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("the address %q cannot be checked: %w", address, err)
	}
	return e.Check(a.Addr())
}

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

// config returns nil for the zero value.
func (t TLS) config() (*tls.Config, error) {
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
	c, err := t.config()
	if err != nil {
		return nil, err
	}
	made := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout, Control: n.Egress.control}).DialContext,
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
