// Package mockserver runs a SCIM server that grades provisioning clients: the reference server in memory, with quirks and a recorder.
// Package clientgrade defines the expectations.
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

// Names of the resource types.
const (
	users  = "User"
	groups = "Group"
)

// Options configure a server. Token and Scenario are required.
type Options struct {
	// Token is the bearer token that the client must send.
	Token string
	// Listen is the address to listen on. Default: a free port of the loopback interface.
	Listen string
	// Quirks are deviations of the server, in addition to those of the scenario. Default: none.
	Quirks []quirks.Setting
	// Scenario is the task for the client.
	Scenario clientgrade.Scenario
	// Listening, if set, is called with the base URL before the server accepts requests. If it returns an error, Start fails.
	Listening func(url string) error
	// Each, if set, is called with every finished exchange, one at a time.
	Each func(observed.Exchange)
	// Logger receives internal errors. Default: no logging.
	Logger *slog.Logger
}

// A Server is a SCIM server that one client uses and that grades this client.
type Server struct {
	url      string
	opts     Options
	store    *memstore.Store
	recorder *observed.Recorder
	inner    *http.Server // the server with its quirks, on a separate address
	outer    *http.Server // the recorder
	carrier  *http.Transport
	running  sync.WaitGroup

	mu   sync.Mutex
	open []clientgrade.ExternalChange // pending external changes
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
	s.inner = &http.Server{Handler: s.withExternalChanges(handler), ReadHeaderTimeout: headerTimeout, ErrorLog: quiet}
	s.outer = &http.Server{Handler: s.recorder, ReadHeaderTimeout: headerTimeout, ErrorLog: quiet}
	s.running.Go(func() { _ = s.inner.Serve(inside) })
	s.running.Go(func() { _ = s.outer.Serve(outside) })
	return s, nil
}

const (
	headerTimeout = 10 * time.Second
	// shutdownTime is the maximum time for running requests when the server stops.
	shutdownTime = 2 * time.Second
)

// URL returns the base URL for the client.
func (s *Server) URL() string { return s.url }

// handler returns the reference server with its quirks.
func (s *Server) handler() (http.Handler, error) {
	server, err := scimserver.New(scimserver.Options{
		Store: s.store, Tokens: scimserver.StaticTokens(s.opts.Token), BaseURL: s.url, PasswordCost: bcryptCost, Logger: s.opts.Logger,
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

// bcryptCost is the minimum bcrypt cost: the passwords are temporary.
const bcryptCost = 4

// prepare creates the users that exist before the first request.
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

// withExternalChanges applies the scenario's changes of another client as soon as the user to change exists. It applies the changes before
// the next request, so that the response to the create still shows the values that the client has sent.
func (s *Server) withExternalChanges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.changeAll(r.Context())
		next.ServeHTTP(w, r)
	})
}

func (s *Server) changeAll(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(m clientgrade.ExternalChange) bool { return s.change(ctx, m) })
}

// change applies an external change. It returns true if no further attempt is needed: the change is stored, or one of its values is
// invalid. It returns false if the user does not exist yet or the store returns an error.
func (s *Server) change(ctx context.Context, m clientgrade.ExternalChange) bool {
	for record, err := range s.store.Scan(ctx, users, nil, 0) {
		if err != nil || !strings.EqualFold(record.Resource.Text("userName"), m.UserName) {
			continue
		}
		changed := *record
		changed.Resource = record.Resource.Clone()
		for name, v := range m.Set {
			value, err := scim.Value(v)
			if err != nil {
				return true // further attempts would fail too
			}
			changed.Resource.Set(name, value)
		}
		_, err := s.store.Replace(ctx, &changed, scimserver.MemberChange{})
		return err == nil
	}
	return false
}

// State returns the stored state of the server, without the effects of quirks.
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

// Close stops the server and waits for running requests, at most 2s. It may be called more than once.
func (s *Server) Close(ctx context.Context) {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	for _, server := range []*http.Server{s.outer, s.inner} {
		if server.Shutdown(limit) != nil {
			_ = server.Close() // abort the requests that still run after shutdownTime
		}
	}
	s.running.Wait()
	s.carrier.CloseIdleConnections()
}

// Grade stops the server and grades the client.
func (s *Server) Grade(ctx context.Context) (*conformance.Result, error) {
	s.Close(ctx)
	s.changeAll(context.WithoutCancel(ctx)) // the last request may have created the user of an external change
	held, err := s.State(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	return clientgrade.Grade(s.opts.Scenario, held, s.url, s.recorder.Exchanges()), nil
}
