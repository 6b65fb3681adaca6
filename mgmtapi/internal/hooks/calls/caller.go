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

// Bounds of a call.
const (
	// DefaultTimeout bounds each request, that for an access token too, from its begin to the last byte of the answer.
	DefaultTimeout = 3 * time.Second
	// Attempts is how often a call is tried: once more after a failure.
	Attempts = 2
	// MaxAnswer is the size of the largest answer, in bytes.
	MaxAnswer = 256 << 10
	// maxExcerpt is how much of an answer that is refused is told, in bytes.
	maxExcerpt = 255
	// maxHeader is the size of the largest header of an answer, in bytes.
	maxHeader = 64 << 10

	idleTimeout     = 30 * time.Second
	idleConnections = 8 // per host
)

// Network says how hooks are reached. The zero value works.
type Network struct {
	// CA holds certificates in PEM form that are trusted beside those of the system, for endpoints in tests.
	CA string
	// CAOption names the option that sets CA, for administrators whose endpoint has a certificate that is not trusted. Defaults to no name.
	CAOption string
	// Egress is the policy for the addresses of hooks and their token endpoints. Default: every address but link-local ones and
	// metadata services.
	Egress Egress
	// Timeout of a request. Defaults to DefaultTimeout.
	Timeout time.Duration
}

// Options configure a Caller.
type Options struct {
	Network
	// Secrets opens what the hooks have sealed.
	Secrets seal.Secrets
	// Logger gets what the system log cannot be told. Defaults to none.
	Logger *slog.Logger
}

// Caller calls inline hooks. It may be used by several goroutines.
type Caller struct {
	model.Deps
	secrets seal.Secrets
	logger  *slog.Logger
	timeout time.Duration
	trusted string // the certificates that are trusted, in words
	client  *http.Client

	mu     sync.Mutex
	tokens map[string]grant // by hook
}

// New returns a Caller. The error says what is wrong with the certificates.
func New(d model.Deps, o Options) (*Caller, error) {
	trusted := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("hooks: the certificates of the system: %w", err)
		}
		if !roots.AppendCertsFromPEM([]byte(o.CA)) {
			return nil, errors.New("hooks: the CA holds no PEM certificate")
		}
		trusted.RootCAs = roots
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	certificates := "the certificates of the system"
	if o.CAOption != "" {
		certificates += " and those of " + o.CAOption
	}
	return &Caller{
		Deps: d, secrets: o.Secrets, logger: o.Logger, timeout: o.Timeout, trusted: certificates, tokens: map[string]grant{},
		client: &http.Client{
			Transport: &http.Transport{ // no proxy: it would be connected to in place of the address that is checked
				DialContext:            (&net.Dialer{Control: o.Egress.Control}).DialContext,
				TLSClientConfig:        trusted,
				MaxIdleConnsPerHost:    idleConnections,
				IdleConnTimeout:        idleTimeout,
				MaxResponseHeaderBytes: maxHeader,
				ForceAttemptHTTP2:      true,
			},
			// A redirection would carry the secrets to where nobody has registered a hook.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// CloseIdleConnections closes the connections that no call uses. The Caller can still be used afterwards.
func (c *Caller) CloseIdleConnections() { c.client.CloseIdleConnections() }
