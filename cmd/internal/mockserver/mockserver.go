// Package mockserver runs a SCIM server to grade provisioning clients with: the reference server in memory, behind quirks,
// behind a recorder. What is expected of a client is the business of package clientgrade.
package mockserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/clientgrade"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// The names of the resource types.
const (
	users  = "User"
	groups = "Group"
)

// Options configure a server. Token and Scenario are required.
type Options struct {
	// Token is the bearer token that the client has to send.
	Token string
	// Listen is the address to listen on. Defaults to a free port of the loopback interface.
	Listen string
	// Quirks are how the server deviates, beyond those of the scenario. Defaults to not at all.
	Quirks []quirks.Setting
	// Scenario is what the client is asked to do.
	Scenario clientgrade.Scenario
	// Listening, when set, is called with the base URL before the first request is taken. An error of it ends Start.
	Listening func(url string) error
	// Each, when set, is called with every finished exchange, one after the other.
	Each func(observed.Exchange)
	// Logger gets what goes wrong inside. Defaults to none.
	Logger *slog.Logger
}

// A Server is one client's mock.
type Server struct {
	url      string
	opts     Options
	store    *memstore.Store
	recorder *observed.Recorder
	inner    *http.Server // the server with its quirks, on an address of its own
	outer    *http.Server // the recorder
	carrier  *http.Transport
	running  sync.WaitGroup

	mu   sync.Mutex
	open []clientgrade.ExternalChange // what has not been done yet
}

// Start starts a server, which serves until Close.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Listen == "" {
		opts.Listen = "127.0.0.1:0"
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, store: memstore.New(), open: slices.Clone(opts.Scenario.Meddle)}
	listen := func(address string) (net.Listener, error) { return new(net.ListenConfig).Listen(ctx, "tcp", address) }
	outside, err := listen(opts.Listen)
	if err != nil {
		return nil, err
	}
	s.url = "http://" + outside.Addr().String()
	handler, err := s.handler()
	if err == nil {
		err = s.prepare(ctx)
	}
	if err == nil && opts.Listening != nil {
		err = opts.Listening(s.url)
	}
	var inside net.Listener
	if err == nil {
		inside, err = listen("127.0.0.1:0")
	}
	if err != nil {
		return nil, errors.Join(err, outside.Close())
	}
	s.carrier = http.DefaultTransport.(*http.Transport).Clone()
	s.carrier.DisableCompression, s.carrier.Proxy = true, nil
	s.recorder, err = observed.NewRecorder("http://"+inside.Addr().String(),
		observed.Options{Transport: s.carrier, Each: opts.Each, Hangup: true})
	if err != nil {
		return nil, errors.Join(err, outside.Close(), inside.Close())
	}
	quiet := slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug)
	s.inner = &http.Server{Handler: s.meddling(handler), ReadHeaderTimeout: headerTimeout, ErrorLog: quiet}
	s.outer = &http.Server{Handler: s.recorder, ReadHeaderTimeout: headerTimeout, ErrorLog: quiet}
	s.running.Go(func() { _ = s.inner.Serve(inside) })
	s.running.Go(func() { _ = s.outer.Serve(outside) })
	return s, nil
}

const (
	headerTimeout = 10 * time.Second
	// goodbye is how long requests under way may take when the server stops.
	goodbye = 2 * time.Second
)

// URL is the base URL for the client.
func (s *Server) URL() string { return s.url }

// handler is the reference server behind its quirks.
func (s *Server) handler() (http.Handler, error) {
	server, err := scimserver.New(scimserver.Options{
		Store: s.store, Tokens: scimserver.StaticTokens(s.opts.Token), BaseURL: s.url, PasswordCost: cheap, Logger: s.opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	more, err := quirks.ParseAll(s.opts.Scenario.Quirks)
	if err != nil {
		return nil, fmt.Errorf("quirks of the scenario: %w", err)
	}
	return quirks.New(server, slices.Concat(s.opts.Quirks, more)...)
}

// cheap is the least bcrypt cost: nobody keeps these passwords.
const cheap = 4

// prepare creates the users who are there before the client comes.
func (s *Server) prepare(ctx context.Context) error {
	for i, attributes := range s.opts.Scenario.Exists {
		resource := &scim.Resource{}
		resource.AddSchema(scim.UserSchema)
		for name, v := range attributes {
			value, err := scim.Value(v)
			if err != nil {
				return fmt.Errorf("user %v: %w", attributes["userName"], err)
			}
			resource.Set(name, value)
		}
		record := &scimserver.Record{Type: users, ID: fmt.Sprintf("before-%d", i+1), Resource: resource, Display: resource.Text("userName")}
		if _, err := s.store.Create(ctx, record, nil); err != nil {
			return fmt.Errorf("user %v: %w", attributes["userName"], err)
		}
	}
	return nil
}

// meddling makes the changes of somebody else as soon as a user is there to be changed: in front of the next request, so that
// the answer to the create still shows what the client has sent.
func (s *Server) meddling(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.meddleAll(r.Context())
		next.ServeHTTP(w, r)
	})
}

func (s *Server) meddleAll(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(m clientgrade.ExternalChange) bool { return s.meddle(ctx, m) })
}

// meddle tells whether the change was made.
func (s *Server) meddle(ctx context.Context, m clientgrade.ExternalChange) bool {
	for record, err := range s.store.Scan(ctx, users, nil, 0) {
		if err != nil || !strings.EqualFold(record.Resource.Text("userName"), m.UserName) {
			continue
		}
		changed := *record
		changed.Resource = record.Resource.Clone()
		for name, v := range m.Set {
			value, err := scim.Value(v)
			if err != nil {
				return true // it can never be made
			}
			changed.Resource.Set(name, value)
		}
		_, err := s.store.Replace(ctx, &changed, scimserver.MemberChange{})
		return err == nil
	}
	return false
}

// State is what the server holds now, whatever its quirks make clients believe.
func (s *Server) State(ctx context.Context) (clientgrade.State, error) {
	var held clientgrade.State
	for record, err := range s.store.Scan(ctx, users, nil, 0) {
		if err != nil {
			return held, err
		}
		held.Users = append(held.Users, represent(record))
	}
	for record, err := range s.store.Scan(ctx, groups, nil, 0) {
		if err != nil {
			return held, err
		}
		members, err := s.store.Members(ctx, record.ID, nil)
		if err != nil {
			return held, err
		}
		list := []any{}
		for _, m := range members {
			list = append(list, scim.NewObject(scim.Member{Name: "value", Value: m.ID}))
		}
		group := represent(record)
		group.Set("members", list)
		held.Groups = append(held.Groups, group)
	}
	return held, nil
}

func represent(record *scimserver.Record) *scim.Resource {
	r := record.Resource.Clone()
	r.SetID(record.ID)
	return r
}

// Close stops the server; requests under way get a moment to finish. It may be called again.
func (s *Server) Close(ctx context.Context) {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	for _, server := range []*http.Server{s.outer, s.inner} {
		if server.Shutdown(limit) != nil {
			_ = server.Close() // somebody did not finish in time
		}
	}
	s.running.Wait()
	s.carrier.CloseIdleConnections()
}

// Grade stops the server and grades the client.
func (s *Server) Grade(ctx context.Context) (*conformance.Result, error) {
	s.Close(ctx)
	s.meddleAll(context.WithoutCancel(ctx)) // what the client gave no occasion for
	held, err := s.State(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	return clientgrade.Grade(s.opts.Scenario, held, s.url, s.recorder.Exchanges()), nil
}
