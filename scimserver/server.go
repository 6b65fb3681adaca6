package scimserver

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/semaphore"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver/internal/splice"
)

// Options configures a server. Store and Tokens are required.
type Options struct {
	// Store stores the resources.
	Store Store
	// Tokens verifies bearer tokens.
	Tokens TokenVerifier
	// Types are the resource types to serve. Default: schema.UserType() and schema.GroupType().
	Types []*schema.ResourceType
	// Prefix is the path below which the server is mounted, such as "/scim/v2". Requests must arrive with the prefix in their path; do not
	// strip it. Default: "".
	Prefix string
	// BaseURL is the URL prefix of locations and references, including Prefix and without a trailing slash. Default: the scheme and host of
	// each request followed by Prefix. Set it if the server is behind a proxy.
	BaseURL string
	// Limits limits the cost of one request.
	Limits Limits
	// Memory limits the memory of the requests in progress of several servers together. A request that exceeds it fails with 503 and
	// Retry-After. Default: no common limit; Limits.MaxMemory limits each server.
	Memory *Memory
	// Cursors configures paging by cursor.
	Cursors CursorOptions
	// PasswordCost is the bcrypt cost of stored passwords. Default: bcrypt.DefaultCost.
	PasswordCost int
	// Refuse is the set of nonstandard requests of well-known clients to reject; lenient.Rules lists them. Default: none. The server then
	// accepts all of them with the meaning that the client intends. [Strict] rejects all of them.
	Refuse lenient.Set
	// Logger logs internal errors and panics. Default: slog.Default.
	Logger *slog.Logger
}

// Strict contains all leniencies. As [Options.Refuse], it rejects all nonstandard requests.
const Strict = lenient.All

// server is the handler that New returns.
type server struct {
	store        Store
	raw          RawReader // the store, if it is one
	tokens       TokenVerifier
	types        []*resourceType
	prefix       string
	baseURL      string
	limits       Limits
	memory       *Memory // of this server
	shared       *Memory // Options.Memory
	cursors      cursors
	passwordCost int
	accept       lenient.Set
	log          *slog.Logger
	routes       map[string]route
	byID         map[string]route     // the routes with an id, by the first segment
	lastBase     atomic.Pointer[base] // of the last request, because most requests have the same host
	schemas      []*scim.Resource     // the documents of /Schemas, without meta.location
	locks        locks
	turns        *turns              // of long computations
	buffers      sync.Pool           // of *buffers, for the encoding of responses
	large        *semaphore.Weighted // bytes of large resources in memory
	largeTexts   sync.Pool           // of *[]byte, the memory of large resources
}

// resourceType is a served resource type, with the properties for which the server has special code.
type resourceType struct {
	*schema.ResourceType
	path    string // the endpoint without its leading slash: "Users"
	isUser  bool   // has a password and derived groups
	isGroup bool   // has members, which are stored as a relation

	onRequest bool // has attributes that are returned on request

	standard *splice.Plan // the plan of responses to GET requests without the parameters attributes and excludedAttributes
}

// derived returns the name of the attribute that is derived from the membership relation, or "" if the type has none.
func (t *resourceType) derived() string {
	switch {
	case t.isUser:
		return attrGroups
	case t.isGroup:
		return attrMembers
	}
	return ""
}

// Names of attributes that are stored separately from the resource.
const (
	attrGroups   = "groups"
	attrMembers  = "members"
	attrPassword = "password"
)

// New returns the handler. It fails if the options are invalid.
func New(o Options) (http.Handler, error) {
	s := &server{
		store:        o.Store,
		tokens:       o.Tokens,
		prefix:       strings.TrimSuffix(o.Prefix, "/"),
		baseURL:      strings.TrimSuffix(o.BaseURL, "/"),
		limits:       o.Limits.withDefaults(),
		passwordCost: cmp.Or(o.PasswordCost, bcrypt.DefaultCost),
		accept:       Strict &^ o.Refuse,
		log:          o.Logger,
		locks:        newLocks(),
		shared:       o.Memory,
		large:        semaphore.NewWeighted(largeBudget),
	}
	s.memory = NewMemory(s.limits.MaxMemory)
	s.turns = newTurns(s.limits.MaxTurnTime)
	s.raw, _ = o.Store.(RawReader)
	if s.store == nil {
		return nil, errors.New("scimserver: Options.Store is required")
	}
	if s.tokens == nil {
		return nil, errors.New("scimserver: Options.Tokens is required")
	}
	if s.prefix != "" && s.prefix[0] != '/' {
		return nil, fmt.Errorf("scimserver: Options.Prefix %q does not start with a slash", o.Prefix)
	}
	if s.baseURL != "" {
		if u, err := url.Parse(s.baseURL); err != nil || !u.IsAbs() || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("scimserver: Options.BaseURL %q is not an absolute URL without query and fragment", o.BaseURL)
		}
	}
	if s.passwordCost < bcrypt.MinCost || s.passwordCost > bcrypt.MaxCost {
		return nil, fmt.Errorf("scimserver: Options.PasswordCost %d is not between %d and %d", s.passwordCost, bcrypt.MinCost, bcrypt.MaxCost)
	}
	var err error
	if s.cursors, err = newCursors(o.Cursors); err != nil {
		return nil, err
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	types := o.Types
	if types == nil {
		types = []*schema.ResourceType{schema.UserType(), schema.GroupType()}
	}
	for _, rt := range types {
		t := &resourceType{
			ResourceType: rt,
			path:         strings.TrimPrefix(rt.Endpoint, "/"),
			isUser:       scim.EqualName(rt.Schema.ID, scim.UserSchema),
			isGroup:      scim.EqualName(rt.Schema.ID, scim.GroupSchema),
			onRequest:    rt.ReturnsOnRequest(),
		}
		if t.path == "" || t.path == anySegment || strings.Contains(t.path, "/") {
			return nil, fmt.Errorf("scimserver: resource type %s: endpoint %q is not one path segment", rt.Name, rt.Endpoint)
		}
		t.standard = t.compile(schema.Projection{})
		s.types = append(s.types, t)
	}
	s.schemas = schemaDocuments(types)
	if err := s.addRoutes(); err != nil {
		return nil, err
	}
	s.addByID()
	return s, nil
}

// typeNamed returns the served type with that name, or nil.
func (s *server) typeNamed(name string) *resourceType {
	for _, t := range s.types {
		if t.Name == name {
			return t
		}
	}
	return nil
}
