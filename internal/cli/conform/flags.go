package conform

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
)

// connection is how the target is reached.
type connection struct {
	Token          string        `help:"Bearer token." env:"SCIM_TOKEN" placeholder:"TOKEN"`
	Header         []string      `help:"Header to send with every request; may be repeated." sep:"none" placeholder:"'NAME: VALUE'"`
	CAFile         string        `help:"PEM file with certificates to trust beside those of the system." type:"path" placeholder:"FILE"`
	Timeout        time.Duration `help:"Time limit of the whole command, cleaning up included." default:"5m"`
	RequestTimeout time.Duration `help:"Time limit of one request." default:"15s"`
}

// target builds the target from the flags. Its URL may be "" when a journal names it.
func (c connection) target(url string) (conformance.Target, error) {
	target := conformance.Target{URL: url, Token: c.Token, Header: http.Header{}}
	if c.Timeout <= 0 || c.RequestTimeout <= 0 {
		return target, usage("--timeout and --request-timeout must be positive")
	}
	if strings.ContainsAny(c.Token, "\r\n") {
		return target, usage("the token contains a line break; was it read from a file with one at its end?")
	}
	for _, h := range c.Header {
		name, value, found := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsAny(h, "\r\n") {
			return target, usage("--header %q is not of the form 'Name: value'", name)
		}
		target.Header.Add(name, strings.TrimSpace(value))
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return target, usage("--ca-file cannot be read: %v", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return target, usage("--ca-file %s holds no certificate in PEM form", c.CAFile)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		target.Transport = transport
	}
	return target, nil
}

// selection is which checks are meant.
type selection struct {
	Only  []string `help:"Only these checks or areas, separated by commas." placeholder:"ID,..."`
	Skip  []string `help:"Not these checks or areas, separated by commas." placeholder:"ID,..."`
	Level string   `help:"Weakest level that is checked: must, should, interop or may." default:"may"`
}

func (s selection) checks() ([]conformance.Check, error) {
	return conformance.Selection{Only: s.Only, Skip: s.Skip, Level: conformance.Level(s.Level)}.Apply(checks.All())
}

func usage(format string, args ...any) error {
	return &conformance.UsageError{Problem: fmt.Sprintf(format, args...)}
}
