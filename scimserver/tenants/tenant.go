package tenants

import (
	"context"
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

// Config describes one tenant. Only Name is required; without tokens nobody can use it.
type Config struct {
	// Name is [Default], or lower case letters and digits in words joined by hyphens, at most [MaxName] bytes.
	Name string
	// Tokens are the bearer tokens that are accepted.
	Tokens []Token
	// Quirks are the deviations to begin with. Defaults to none.
	Quirks []quirks.Setting
	// Refuse is what to refuse of what known clients send outside the RFCs. Defaults to nothing.
	Refuse lenient.Set
	// Types are the resource types to serve. Defaults to users and groups.
	Types []*schema.ResourceType
}

const (
	// Default is the tenant at /scim/v2.
	Default = "default"
	// MaxName bounds the length of a tenant's name in bytes, so that tables can be named after it.
	MaxName = 24

	tenantPath = "/t/"
	scimPath   = "/scim"
	version    = "/v2"
)

// Prefix is the path below which the tenant of that name is served.
func Prefix(name string) string {
	return root(name) + version
}

// root is the prefix of a tenant without the version of the protocol. All that is below it is the tenant's, so that a request
// without a version or with another one is answered as RFC 7644 section 3.13 says.
func root(name string) string {
	if name == Default {
		return scimPath
	}
	return tenantPath + name + scimPath
}

// CheckName says what is wrong with the name of a tenant, nil when nothing is.
func CheckName(name string) error {
	word := func(word string) bool {
		return word != "" && !strings.ContainsFunc(word, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	}
	for part := range strings.SplitSeq(name, "-") {
		if len(name) > MaxName || !word(part) {
			return fmt.Errorf("%q cannot be the name of a tenant: it is lower case letters and digits in words joined by hyphens, at most %d bytes",
				name, MaxName)
		}
	}
	return nil
}

// nameOf finds the tenant that a path belongs to. It says nothing about whether there is such a tenant.
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

// Tenant is one service provider that is served.
type Tenant struct {
	config  Config // as it was added; tokens and quirks may have changed since
	quirks  *quirks.Switch
	tokens  tokens
	handler http.Handler

	ended   context.Context // done when the tenant is removed
	end     context.CancelFunc
	leaving bool // guarded by Tenants.mu; from then on no request begins
	running sync.WaitGroup
}

// Config describes the tenant as it is now.
func (t *Tenant) Config() Config {
	c := t.config
	c.Tokens, c.Quirks = t.tokens.list(), t.quirks.Settings()
	return c
}

// SetQuirks replaces all quirks.
func (t *Tenant) SetQuirks(settings ...quirks.Setting) error { return t.quirks.Set(settings...) }

// SetTokens replaces all tokens. Requests that have begun end as they began.
func (t *Tenant) SetTokens(list ...Token) error {
	if err := uniqueTokens(list); err != nil {
		return err
	}
	t.tokens.set(list)
	return nil
}

// serve answers one request, which ends when the tenant is removed. The caller has entered it into running.
func (t *Tenant) serve(w http.ResponseWriter, r *http.Request) {
	defer t.running.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(t.ended, cancel)()
	t.handler.ServeHTTP(w, r.WithContext(ctx))
}

// wait returns when no request is running any more, or with the error of ctx.
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

// tokens is a verifier whose tokens can be replaced while it is used.
type tokens struct {
	now     func() time.Time
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
	return ts.current.Load().verifier.VerifyToken(ctx, token)
}
