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
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/spans"
	"github.com/scimwright/scimwright/internal/egress"
)

// Limits of connections.
const (
	dialTimeout     = 10 * time.Second
	idleConnections = 16 // per host
	idleTimeout     = 90 * time.Second
	maxTransports   = 1024 // maximum number of TLS settings whose connections are cached
)

// Network owns the resources that outlive a single Client: connections, and access tokens with their expiry. An engine has one. It may be
// used by several goroutines.
type Network struct {
	// Transport, if set, sends every request instead of the Network's own connections. Egress and TLS settings do not apply then, and a target
	// with TLS settings is rejected.
	Transport http.RoundTripper
	// Egress is the policy for the addresses of targets and token endpoints.
	Egress engine.Egress
	// Spans creates the spans of the requests; nil for none.
	Spans *spans.Tracer

	mu         sync.Mutex
	transports map[engine.TLS]*http.Transport
	tokens     map[[sha256.Size]byte]*tokens
}

func policyOf(e engine.Egress) egress.Policy {
	return egress.Policy{Range: egress.Range(e.Range), Allow: e.Allow, Own: e.Own}
}

// EgressError reports that a host resolved to an address to which connections are not allowed. No request was sent.
type EgressError = egress.Error

// tlsConfig returns the configuration for the settings, nil for the zero value.
func tlsConfig(t engine.TLS) (*tls.Config, error) {
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
			return nil, errors.New("TLS: the CA contains no PEM certificate")
		}
	}
	if (t.Certificate == "") != (t.Key == "") {
		return nil, errors.New("TLS: a client certificate requires both the certificate and its key")
	}
	if t.Certificate != "" {
		pair, err := tls.X509KeyPair([]byte(t.Certificate), []byte(t.Key))
		if err != nil {
			return nil, fmt.Errorf("TLS: client certificate: %w", err) // the error of the package tls does not quote the key
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// transport returns the transport for the settings. Targets with the same settings share their connections.
func (n *Network) transport(t engine.TLS) (http.RoundTripper, error) {
	if n.Transport != nil {
		if t != (engine.TLS{}) {
			return nil, errors.New("TLS: the settings do not apply to Options.Transport of the embedder: remove the settings or the transport")
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
		n.closeIdle() // clients in use continue with their transports
	}
	if n.transports == nil {
		n.transports = map[engine.TLS]*http.Transport{}
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

// closeIdle also drops the cached settings: unused ones would stay in memory indefinitely, including private keys.
func (n *Network) closeIdle() {
	for _, t := range n.transports {
		t.CloseIdleConnections()
	}
	clear(n.transports)
}
