package calls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/scimwright/scimwright/internal/egress"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Egress is the policy for the addresses of hooks and their token endpoints.
type Egress = egress.Policy

// Limits of a call.
const (
	// DefaultTimeout limits each request, also for an access token, from its start to the last byte of the response.
	DefaultTimeout = 3 * time.Second
	// Attempts is the maximum number of attempts per call: a failed call is repeated once.
	Attempts = 2
	// MaxAnswer is the maximum size of a response body, in bytes.
	MaxAnswer = 256 << 10
	// maxExcerpt is the maximum size of the logged part of an invalid response, in bytes.
	maxExcerpt = 255
	// maxRecord is the maximum size of an envelope and of a valid response in the log, in bytes.
	maxRecord = 8 << 10
	// maxHeader is the maximum size of the header of a response, in bytes.
	maxHeader = 64 << 10

	idleTimeout     = 30 * time.Second
	idleConnections = 8 // per host
)

// Network configures the connections to hooks. The zero value is usable.
type Network struct {
	// CA holds certificates in PEM format that are trusted in addition to those of the system, for endpoints in tests.
	CA string
	// CAOption is the name of the option that sets CA. Errors about untrusted certificates mention it. Default: no name.
	CAOption string
	// Egress is the policy for the addresses of hooks and their token endpoints. Default: every address but link-local ones and
	// metadata services.
	Egress Egress
	// Timeout of a request. Default: DefaultTimeout.
	Timeout time.Duration
}

// Options configure a Caller.
type Options struct {
	Network
	// Secrets decrypts the secrets of the hooks.
	Secrets seal.Secrets
	// Logger receives errors that cannot be written to the system log. Default: none.
	Logger *slog.Logger
}

// Caller calls inline hooks. It is safe for concurrent use.
type Caller struct {
	model.Deps
	secrets seal.Secrets
	logger  *slog.Logger
	timeout time.Duration
	trusted string // description of the trusted certificates, for error messages
	client  *http.Client

	mu     sync.Mutex
	tokens map[string]grant // by hook
}

// New returns a Caller. It returns an error if the certificates are invalid.
func New(d model.Deps, o Options) (*Caller, error) {
	trusted := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("hooks: the certificates of the system: %w", err)
		}
		if !roots.AppendCertsFromPEM([]byte(o.CA)) {
			return nil, errors.New("hooks: the CA contains no PEM certificate")
		}
		trusted.RootCAs = roots
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	certificates := "those of the system"
	if o.CAOption != "" {
		certificates += " and of " + o.CAOption
	}
	return &Caller{
		Deps: d, secrets: o.Secrets, logger: o.Logger, timeout: o.Timeout, trusted: certificates, tokens: map[string]grant{},
		client: &http.Client{
			Transport: &http.Transport{ // no proxy: a proxy would connect to an unchecked address
				DialContext:            (&net.Dialer{Control: o.Egress.Control}).DialContext,
				TLSClientConfig:        trusted,
				MaxIdleConnsPerHost:    idleConnections,
				IdleConnTimeout:        idleTimeout,
				MaxResponseHeaderBytes: maxHeader,
				ForceAttemptHTTP2:      true,
			},
			// A redirect would send the secrets to an endpoint that is not registered.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// CloseIdleConnections closes the connections that no call uses. The Caller can still be used afterwards.
func (c *Caller) CloseIdleConnections() { c.client.CloseIdleConnections() }
