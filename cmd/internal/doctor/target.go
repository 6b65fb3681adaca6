package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/scheme"
	"github.com/scimwright/scimwright/internal/counted"
)

// expiresSoon is the time before the expiry of a certificate from which on there is a warning.
const expiresSoon = 14 * 24 * time.Hour

// target checks the base URL of a SCIM server: the connection, TLS, and the response.
func (e *examination) target(ctx context.Context, text string) {
	e.at("target", text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		e.current.subject = ""
		e.fail("Use a base URL such as https://example.com/scim/v2, without credentials.", "the target is not an absolute http or https URL")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", scheme.Address(u, u.Scheme))
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) {
			e.fail("Check the name of the host, and the name servers of this machine.", "%v", dns)
		} else {
			e.fail("Check that the server runs, and the host and port of the URL.", "%v", err)
		}
		return
	}
	_ = conn.Close()
	if u.Scheme == "https" && !e.handshake(ctx, u) {
		return
	}
	e.response(ctx, u)
}

// handshake checks the TLS of a target, and reports whether clients can use it.
func (e *examination) handshake(ctx context.Context, u *url.URL) bool {
	state, err := handshake(ctx, u, tls.VersionTLS12)
	if err != nil {
		if _, old := handshake(ctx, u, tls.VersionTLS10); old == nil {
			e.fail("Enable TLS 1.2 or 1.3 on the server.", "the server supports only TLS 1.1 or earlier; SCIM requires TLS 1.2")
			return false
		}
		if scheme.WithoutTLS(err) {
			wrong := &scheme.Error{Host: u.Host}
			e.fail("Write the URL with http://, or enable TLS on the server.", "%v", wrong)
			return false
		}
		e.fail("Check the TLS configuration of the server.", "the TLS handshake fails: %v", err)
		return false
	}
	return e.certificate(state, u.Hostname())
}

// handshake connects to a server without checking its certificate.
func handshake(ctx context.Context, u *url.URL, minVersion uint16) (tls.ConnectionState, error) {
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: minVersion, InsecureSkipVerify: true, ServerName: u.Hostname(), //nolint:gosec // certificate checks it; nothing is sent
	}}
	conn, err := dialer.DialContext(ctx, "tcp", scheme.Address(u, u.Scheme))
	if err != nil {
		return tls.ConnectionState{}, err
	}
	state := conn.(*tls.Conn).ConnectionState()
	_ = conn.Close()
	return state, nil
}

// certificate checks the certificate of a server.
func (e *examination) certificate(state tls.ConnectionState, host string) bool {
	leaf := state.PeerCertificates[0]
	names := strings.Join(namesOf(leaf), ", ")
	others := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		others.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: e.Roots, Intermediates: others, DNSName: host})
	var wrongName x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	now := time.Now()
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && now.Before(invalid.Cert.NotBefore):
		e.fail("Check the clock of this machine.",
			"the certificate of %s is valid only from %s", invalid.Cert.Subject, date(invalid.Cert.NotBefore))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		e.fail("Renew the certificate of the server.", "the certificate of %s expired on %s", invalid.Cert.Subject, date(invalid.Cert.NotAfter))
	case errors.As(err, &wrongName):
		e.fail("Use one of these names in the URL, or a certificate that contains "+host+".",
			"the certificate is for %s, not for %s", names, host)
	case errors.As(err, &unknown) && leaf.CheckSignatureFrom(leaf) == nil:
		e.fail("Trust it with --ca-file, or use a certificate of a certificate authority.", "the certificate is self-signed")
	case errors.As(err, &unknown) && len(state.PeerCertificates) == 1:
		e.fail("Let the server send the certificates of the intermediate authorities, too, or trust the authority with --ca-file.",
			"the chain is incomplete or its authority is not trusted: the server sends only its own certificate, issued by %s", leaf.Issuer)
	case errors.As(err, &unknown):
		e.fail("Trust the authority with --ca-file.", "the authority of the certificate, %s, is not trusted",
			state.PeerCertificates[len(state.PeerCertificates)-1].Issuer)
	case err != nil:
		e.fail("Replace the certificate of the server.", "the certificate is not valid: %v", err)
	case leaf.NotAfter.Sub(now) < expiresSoon:
		e.warn("Renew the certificate of the server.", "%s, certificate for %s, expires within %s", tls.VersionName(state.Version), names,
			days(leaf.NotAfter.Sub(now)))
	default:
		e.ok("%s, certificate for %s, valid until %s", tls.VersionName(state.Version), names, date(leaf.NotAfter))
	}
	return err == nil
}

// ownCertificate checks the expiry of the certificate of serve engine. The configuration has been checked.
func (e *examination) ownCertificate(certFile, keyFile string) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil || pair.Leaf == nil {
		return
	}
	e.at("certificate", certFile)
	switch left := time.Until(pair.Leaf.NotAfter); {
	case left < 0:
		e.fail("Renew it, and restart the program.", "expired on %s", date(pair.Leaf.NotAfter))
	case left < expiresSoon:
		e.warn("Renew it, and restart the program.", "expires within %s", days(left))
	default:
		e.ok("for %s, valid until %s", strings.Join(namesOf(pair.Leaf), ", "), date(pair.Leaf.NotAfter))
	}
}

// maxNames is the maximum number of names of a certificate that are shown.
const maxNames = 5

func namesOf(c *x509.Certificate) []string {
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	switch {
	case len(names) == 0:
		return []string{"no host"}
	case len(names) > maxNames:
		return append(names[:maxNames], counted.Of(len(names)-maxNames, "other name"))
	}
	return names
}

func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func days(d time.Duration) string { return counted.Of(int(d/(24*time.Hour))+1, "day") }

// response checks the response of a SCIM server, without credentials.
func (e *examination) response(ctx context.Context, u *url.URL) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: e.Roots}
	transport := scheme.New(base)
	defer transport.CloseIdleConnections()
	at := u.JoinPath("ServiceProviderConfig")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		e.fail("Correct the URL.", "%v", err)
		return
	}
	req.Header.Set("Accept", "application/scim+json, application/json")
	before := time.Now()
	res, err := transport.RoundTrip(req)
	after := time.Now()
	if wrong, ok := errors.AsType[*scheme.Error](err); ok {
		e.fail("Write the URL with https://.", "%v", wrong)
		return
	}
	if err != nil {
		e.fail("Check the log of the server.", "GET /ServiceProviderConfig: no response: %v", err)
		return
	}
	_ = res.Body.Close()
	status := res.Status
	switch code := res.StatusCode; {
	case code >= 300 && code < 400:
		e.warn("Use the URL to which the server redirects, without /ServiceProviderConfig.",
			"GET /ServiceProviderConfig returns %s to %s", status, res.Header.Get("Location"))
	case code == http.StatusNotFound:
		e.warn("Check the path of the base URL; it usually ends in /scim/v2.", "GET /ServiceProviderConfig returns %s", status)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		e.ok("responds, and requires credentials (%s)", status)
	case code >= 400:
		e.warn("Check the log of the server.", "GET /ServiceProviderConfig returns %s", status)
	default:
		e.ok("responds (%s)", status)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		e.warn("Use https.", "without TLS, others on the network can read the tokens and the data")
	}
	if theirs, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		e.difference("the target", before, theirs, after, time.Second)
	}
}
