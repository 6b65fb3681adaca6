package egress

import (
	"net"
	"net/http"
	"time"
)

// Limits of Transport.
const (
	dialTimeout = 10 * time.Second // of a connection, and of its TLS handshake
	idleTimeout = 90 * time.Second
	maxIdle     = 256      // connections without a request, of all hosts
	maxHeader   = 32 << 10 // bytes of the header of a response
)

// Transport returns a transport that connects only to addresses that the policy allows, without a proxy. It keeps up to idle connections to
// each host for later requests.
func (p Policy) Transport(idle int) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout, Control: p.Control}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    idle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
	}
}
