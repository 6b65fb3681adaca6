package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/scheme"
)

// portTimeout is the time limit of the request that identifies the program at a port.
const portTimeout = 3 * time.Second

// port checks that a program can listen on an address. chosen means that the operator has named it.
func (e *examination) port(ctx context.Context, address string, chosen bool) {
	e.at("port", address)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		_ = l.Close()
		e.ok("free")
		return
	}
	var dns *net.DNSError
	var syntax *net.AddrError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		e.inUse(ctx, address, chosen)
	case errors.Is(err, fs.ErrPermission):
		e.fail("Use a port from 1024 on, and a proxy or the service manager for the other port.", "this user may not listen on the port")
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &dns):
		e.fail("Use an address of this machine, 127.0.0.1 for this machine only, or 0.0.0.0 for all networks.",
			"this machine does not have the address")
	case errors.As(err, &syntax):
		e.fail("Use the form HOST:PORT, such as 127.0.0.1:8090.", "%v", syntax)
	default:
		e.fail("Use another address.", "%v", err)
	}
}

// inUse finds out which program uses an address.
func (e *examination) inUse(ctx context.Context, address string, chosen bool) {
	for _, service := range []struct{ path, name string }{
		{"/sandbox/v1/health", "scimwright sandbox"}, {"/readyz", "scimwright serve engine"},
	} {
		if responds(ctx, address, service.path) {
			e.ok("in use by %s, which responds", service.name)
			return
		}
	}
	const do = "Choose another address with --listen, or stop that program."
	if chosen {
		e.fail(do, "in use by another program")
	} else {
		e.warn(do, "in use by another program; it is a default address")
	}
}

// responds reports whether a server returns 200 for a path, with or without TLS.
func responds(ctx context.Context, address, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: path}
	if scheme.UsesTLS(ctx, u) {
		u.Scheme = "https"
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}, //nolint:gosec // on this machine, without secrets
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
