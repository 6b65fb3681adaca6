package tenants

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// Config describes one tenant. Only Name is required. Without tokens, no client can use the tenant.
type Config struct {
	// Name is [Default], or words of lower case letters and digits joined by hyphens, at most [MaxName] bytes.
	Name string
	// Tokens are the accepted bearer tokens.
	Tokens []Token
	// Quirks are the initial quirks. Default: none.
	Quirks []quirks.Setting
	// Shared is the state of the quirks that several replicas of the tenant share. Default: the state is in memory.
	Shared quirks.Shared
	// Refuse is the set of nonstandard requests of known clients to reject. Default: none.
	Refuse lenient.Set
	// Types are the resource types to serve. Default: users and groups.
	Types []*schema.ResourceType
}

const (
	// Default is the name of the tenant at /scim/v2.
	Default = "default"
	// MaxName is the maximum length of a tenant's name in bytes. The limit ensures that table names with the tenant's name do not exceed the
	// limit of the database.
	MaxName = 24

	tenantPath = "/t/"
	scimPath   = "/scim"
	version    = "/v2"
)

// Prefix returns the path below which the tenant with that name is served.
func Prefix(name string) string {
	return root(name) + version
}

// root returns the prefix of a tenant without the protocol version. All paths below it belong to the tenant, so that the tenant handles a
// request without a version or with an unsupported version as RFC 7644 section 3.13 requires.
func root(name string) string {
	if name == Default {
		return scimPath
	}
	return tenantPath + name + scimPath
}

// CheckName returns an error if the name is not a valid name of a tenant.
func CheckName(name string) error {
	word := func(word string) bool {
		return word != "" && !strings.ContainsFunc(word, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	}
	for part := range strings.SplitSeq(name, "-") {
		if len(name) > MaxName || !word(part) {
			return fmt.Errorf("%q cannot be the name of a tenant: use lower case letters and digits in words joined by hyphens, at most %d bytes",
				name, MaxName)
		}
	}
	return nil
}

// nameOf returns the name of the tenant that a path belongs to. It does not check whether the tenant exists.
func nameOf(path string) (name string, ok bool) {
	if under(path, scimPath) {
		return Default, true
	}
	rest, ok := strings.CutPrefix(path, tenantPath)
	if !ok {
		return "", false
	}
	name, rest, ok = strings.Cut(rest, "/")
	return name, ok && name != Default && under("/"+rest, scimPath)
}

func under(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// Tenant is one running service provider.
type Tenant struct {
	config  Config // the configuration passed to Add; tokens and quirks may have changed since
	quirks  *quirks.Switch
	tokens  tokens
	handler http.Handler

	ended   context.Context // canceled when the tenant is removed
	end     context.CancelFunc
	leaving bool // guarded by Tenants.mu; once set, no new request starts
	running sync.WaitGroup
}

// Config returns the current configuration of the tenant.
func (t *Tenant) Config() Config {
	c := t.config
	c.Tokens, c.Quirks = t.tokens.list(), t.quirks.Settings()
	return c
}

// SetSharedQuirks replaces all quirks. Their state is in shared, see [quirks.Switch.SetShared].
func (t *Tenant) SetSharedQuirks(shared quirks.Shared, settings ...quirks.Setting) error {
	return t.quirks.SetShared(shared, settings...)
}

// SetQuirks replaces all quirks.
func (t *Tenant) SetQuirks(settings ...quirks.Setting) error { return t.quirks.Set(settings...) }

// SetTokens replaces all tokens. Requests in progress are not affected.
func (t *Tenant) SetTokens(list ...Token) error {
	if err := uniqueTokens(list); err != nil {
		return err
	}
	t.tokens.set(list)
	return nil
}

// serve handles one request, which is canceled when the tenant is removed. Before the call, the caller has counted the request in running.
func (t *Tenant) serve(w http.ResponseWriter, r *http.Request) {
	defer t.running.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(t.ended, cancel)()
	t.handler.ServeHTTP(w, r.WithContext(ctx))
}

// wait waits until no request is running. If ctx ends first, wait returns its error.
func (t *Tenant) wait(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { t.running.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tokens is a verifier whose tokens can be replaced while it is in use.
type tokens struct {
	now     func() time.Time
	common  scimserver.TokenVerifier // of all tenants; nil if there is none
	current atomic.Pointer[accepted]
}

type accepted struct {
	list     []Token
	verifier scimserver.TokenVerifier
}

func (ts *tokens) set(list []Token) {
	ts.current.Store(&accepted{list: slices.Clone(list), verifier: verifier(ts.now, list)})
}

func (ts *tokens) list() []Token { return slices.Clone(ts.current.Load().list) }

// VerifyToken implements scimserver.TokenVerifier.
func (ts *tokens) VerifyToken(ctx context.Context, token string) (scimserver.Grant, error) {
	grant, err := ts.current.Load().verifier.VerifyToken(ctx, token)
	if errors.Is(err, scimserver.ErrBadToken) && ts.common != nil {
		return ts.common.VerifyToken(ctx, token)
	}
	return grant, err
}
