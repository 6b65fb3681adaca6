package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The time-outs of the HTTP server. Writing is not bounded: a drain may wait for minutes.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// httpServer is a listening server with an owner: Close ends it and waits.
type httpServer struct {
	listener net.Listener
	server   *http.Server
	done     chan struct{}
	err      error // why serving ended by itself; read after done is closed
}

// listen takes the address, so that a port in use is found before anything else is done.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w (--listen takes another address; port 0 takes a free one)", addr, err)
	}
	return l, nil
}

func serve(l net.Listener, h http.Handler, log *slog.Logger) *httpServer {
	s := &httpServer{listener: l, done: make(chan struct{}), server: &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	go func() {
		defer close(s.done)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
	return s
}

// ended returns why serving ended by itself, nil while it goes on.
func (s *httpServer) ended() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close lets running requests come to their end within ctx and cuts them off then. A second call waits too.
func (s *httpServer) Close(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	<-s.done
	return err
}

// url is the base URL of the listener. A wildcard address is reached through loopback.
func (s *httpServer) url() string { return baseURL(s.listener) }

func baseURL(l net.Listener) string {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok || addr.IP.IsUnspecified() {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + addr.String()
}
