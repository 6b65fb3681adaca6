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

	"golang.org/x/crypto/bcrypt"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// Options configures a server. Store and Tokens are required.
type Options struct {
	// Store keeps the resources.
	Store Store
	// Tokens decides which bearer tokens are accepted.
	Tokens TokenVerifier
	// Types are the resource types to serve. Defaults to schema.UserType() and schema.GroupType().
	Types []*schema.ResourceType
	// Prefix is the path below which the server is mounted, such as "/scim/v2". Requests arrive with it in their path;
	// do not strip it. Defaults to "".
	Prefix string
	// BaseURL is what locations and references begin with, Prefix included and without a slash at the end. Defaults to
	// the scheme and host of each request followed by Prefix; set it when a proxy stands in front.
	BaseURL string
	// Limits bounds what one request may cost.
	Limits Limits
	// Cursors tunes paging by cursor.
	Cursors CursorOptions
	// PasswordCost is the bcrypt cost of stored passwords. Defaults to bcrypt.DefaultCost.
	PasswordCost int
	// Refuse is what to refuse of the things that well-known clients send outside the RFCs; lenient.Rules lists them.
	// Defaults to nothing: they are read as they are meant. Strict refuses them all.
	Refuse lenient.Set
	// Logger gets internal errors and panics. Default: slog.Default.
	Logger *slog.Logger
}

// Strict is all that [Options.Refuse] can name.
const Strict = lenient.All

// Limits bounds what one request may cost. Zero fields have their defaults.
type Limits struct {
	MaxBody     int64 // bytes of a request body, else 413. Defaults to 8 MiB
	MaxFilter   int   // bytes of a filter, else 400. Defaults to filter.MaxLength, which is also the most
	MaxPage     int   // resources in one page; advertised as filter.maxResults. Defaults to 1000
	DefaultPage int   // resources in one page when the request names no count. Defaults to 100
	// MaxResults is how many resources a query may match, on whichever pages, else 400 tooMany. Defaults to any number.
	MaxResults int
	// MaxSortStart is how far startIndex reaches into an order that no index of the store gives, else 400 tooMany: what comes
	// before has to be remembered. Cursors reach everything. Defaults to 100,000.
	MaxSortStart       int
	MaxPatchOperations int // operations in one PATCH, else 413. Defaults to 1000
	MaxBulkOperations  int // operations in one bulk request, else 413; advertised as bulk.maxOperations. Defaults to 1000
	// bytes of a bulk request, else 413; advertised as bulk.maxPayloadSize. Defaults to MaxBody, which is also the most
	MaxBulkPayload int64
}

func (l Limits) withDefaults() Limits {
	l.MaxBody = cmp.Or(l.MaxBody, 8<<20)
	l.MaxFilter = min(cmp.Or(l.MaxFilter, filter.MaxLength), filter.MaxLength)
	l.MaxPage = cmp.Or(l.MaxPage, 1000)
	l.DefaultPage = min(cmp.Or(l.DefaultPage, 100), l.MaxPage)
	l.MaxSortStart = cmp.Or(l.MaxSortStart, 100_000)
	l.MaxPatchOperations = cmp.Or(l.MaxPatchOperations, 1000)
	l.MaxBulkOperations = cmp.Or(l.MaxBulkOperations, 1000)
	l.MaxBulkPayload = min(cmp.Or(l.MaxBulkPayload, l.MaxBody), l.MaxBody)
	return l
}

// server is the handler that New returns.
type server struct {
	store        Store
	tokens       TokenVerifier
	types        []*resourceType
	prefix       string
	baseURL      string
	limits       Limits
	cursors      cursors
	passwordCost int
	accept       lenient.Set
	log          *slog.Logger
	routes       map[string]route
	schemas      []*scim.Resource // the documents of /Schemas, without meta.location
	locks        locks
	buffers      sync.Pool // of *[]byte, for the text of answers
}

// resourceType is a type that is served, with the part this server knows by heart.
type resourceType struct {
	*schema.ResourceType
	path    string // the endpoint without its slash: "Users"
	isUser  bool   // has a password and derived groups
	isGroup bool   // has members, which are a relation

	onRequest bool // has attributes that are returned on request
}

// derived is the attribute that is made from the membership relation, "" when the type has none.
func (t *resourceType) derived() string {
	switch {
	case t.isUser:
		return attrGroups
	case t.isGroup:
		return attrMembers
	}
	return ""
}

// Attributes that have a place of their own in the store.
const (
	attrGroups   = "groups"
	attrMembers  = "members"
	attrPassword = "password"
)

// New returns the handler. It fails when the options contradict themselves.
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
	}
	if s.store == nil {
		return nil, errors.New("scimserver: Options.Store is required")
	}
	if s.tokens == nil {
		return nil, errors.New("scimserver: Options.Tokens is required")
	}
	if s.prefix != "" && s.prefix[0] != '/' {
		return nil, fmt.Errorf("scimserver: Options.Prefix %q does not begin with a slash", o.Prefix)
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
		s.types = append(s.types, t)
	}
	s.schemas = schemaDocuments(types)
	if err := s.addRoutes(); err != nil {
		return nil, err
	}
	return s, nil
}

// typeNamed returns the served type of that name, nil when there is none.
func (s *server) typeNamed(name string) *resourceType {
	for _, t := range s.types {
		if t.Name == name {
			return t
		}
	}
	return nil
}
