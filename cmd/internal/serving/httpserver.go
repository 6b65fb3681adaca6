package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The timeouts of the HTTP server. There is no write timeout, because the response to a request that waits, such as /sandbox/v1/jobs/drain,
// may take minutes.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Server is a running HTTP server. Close stops it and waits.
type Server struct {
	listener net.Listener
	server   *http.Server
	secure   bool // with TLS
	done     chan struct{}
	err      error // the cause if serving stopped on its own; valid after done is closed
}

// Listen opens the address of a flag, so that a port in use is detected before other work starts.
func Listen(ctx context.Context, addr, flag string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w (set another address with %s; port 0 selects a free port)", addr, err, flag)
	}
	return l, nil
}

// Serve serves a listener, with TLS unless its configuration is nil.
func Serve(l net.Listener, h http.Handler, secure *tls.Config, log *slog.Logger) *Server {
	s := &Server{listener: l, secure: secure != nil, done: make(chan struct{}), server: &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), TLSConfig: secure,
	}}
	run := s.server.Serve
	if s.secure {
		run = func(l net.Listener) error { return s.server.ServeTLS(l, "", "") }
	}
	go func() {
		defer close(s.done)
		if err := run(l); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
	return s
}

// Done is closed when serving ends.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns the cause if serving stopped on its own, nil otherwise.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close waits for running requests and aborts them when ctx ends. A second call waits too.
func (s *Server) Close(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	<-s.done
	return err
}

// URL returns the base URL of the server. For a wildcard address it is the loopback address.
func (s *Server) URL() string { return BaseURL(s.listener, s.secure) }

// BaseURL returns the base URL of a listener. For a wildcard address it is the loopback address.
func BaseURL(l net.Listener, secure bool) string {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok || addr.IP.IsUnspecified() {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return scheme + net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + addr.String()
}

// OnLoopback reports whether only this machine can reach a listener.
func OnLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// ReadCertificate returns the TLS configuration for a certificate chain and its key in PEM files, nil without files.
func ReadCertificate(certFile, keyFile string) (*tls.Config, error) {
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil
	case certFile == "" || keyFile == "":
		return nil, errors.New("TLS requires two files, one with the certificate and one with its key")
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	// RFC 7644 section 7.2: TLS 1.2 at least.
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
