package daemon

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/engine/webhooks/webhooksapi"
	"github.com/scimwright/scimwright/internal/rest"
)

// headerTenant selects the tenant of a request with the permission fleet. Default: the tenant of the token.
const headerTenant = "X-Svc-Tenant"

// exchange is what is known about a request.
type exchange struct {
	token   token
	tenant  string // of the request
	release func() // nil until the request was counted
	audited int64  // number of the entry in the audit log, 0 for none
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return &exchange{}
	}
	return x
}

// tenantPrefix returns the prefix of the ids of the apps of a request.
func tenantPrefix(ctx context.Context) string { return exchangeOf(ctx).tenant + ":" }

// guard authenticates callers and decides about operations.
type guard struct {
	db       *database
	usage    *usage
	audit    *recorder
	settings *atomic.Pointer[settings]
	now      func() time.Time
}

var _ rest.Guard = (*guard)(nil)

// Authenticate implements rest.Guard.
func (g *guard) Authenticate(r *http.Request) (rest.Principal, error) {
	ctx := r.Context()
	x := exchangeOf(ctx)
	t, err := g.caller(r)
	if errors.Is(err, errNoToken) {
		return rest.Principal{}, &rest.Error{Code: rest.CodeToken, Header: http.Header{"Www-Authenticate": {`Bearer realm="scimwright"`}}}
	}
	if err != nil {
		return rest.Principal{}, err
	}
	x.token, x.tenant = t, t.Tenant
	if other := r.Header.Get(headerTenant); other != "" && other != t.Tenant {
		switch {
		case !t.has(engine.AccessFleet):
			return rest.Principal{}, rest.Failf(rest.CodeForbidden, "The header %s requires the permission %s.", headerTenant, engine.AccessFleet)
		case !tenantName.MatchString(other):
			return rest.Principal{}, rest.Invalid(headerTenant, "a tenant has 1 to 64 of the characters a-z 0-9 -")
		}
		x.tenant = other
	}
	if x.release, err = g.usage.take(x.tenant); err != nil {
		return rest.Principal{}, err
	}
	if t.ID != "" && g.now().Sub(t.LastUsed) > time.Minute {
		g.audit.used(t.ID, g.now())
	}
	return rest.Principal{TokenID: t.ID, Name: t.Name, ClientID: x.tenant}, nil
}

// caller returns the token of a request: that in the header, or else the one that the certificate of the client has in the configuration.
func (g *guard) caller(r *http.Request) (token, error) {
	header := r.Header.Get("Authorization")
	if header == "" && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return g.settings.Load().certified(r.TLS.VerifiedChains[0][0])
	}
	scheme, value, _ := strings.Cut(strings.TrimSpace(header), " ")
	if value = strings.TrimSpace(value); value == "" || !strings.EqualFold(scheme, "Bearer") {
		return token{}, errNoToken
	}
	if t, ok := g.settings.Load().tokens[digestOf(value)]; ok {
		return t, nil
	}
	t, err := g.db.tokenOf(r.Context(), value)
	if err != nil {
		return token{}, err
	}
	if !t.Expires.IsZero() && !g.now().Before(t.Expires) {
		return token{}, errNoToken
	}
	return t, nil
}

// certified returns the token of a verified certificate.
func (s *settings) certified(c *x509.Certificate) (token, error) {
	for _, name := range append([]string{"subject:" + c.Subject.String()}, alternativeNames(c)...) {
		if t, ok := s.certificates[name]; ok {
			return t, nil
		}
	}
	return token{}, errNoToken
}

func alternativeNames(c *x509.Certificate) (names []string) {
	for _, dns := range c.DNSNames {
		names = append(names, "dns:"+dns)
	}
	for _, uri := range c.URIs {
		names = append(names, "uri:"+uri.String())
	}
	for _, address := range c.EmailAddresses {
		names = append(names, "email:"+address)
	}
	return names
}

// Authorize implements rest.Guard. The operations of the engine are authorized by permit.
func (g *guard) Authorize(ctx context.Context, _ rest.Principal, op rest.Info) error {
	if op.ID == engineAPI {
		return nil
	}
	err := g.permit(ctx, op.ID, op.Method, op.Access)
	if errors.Is(err, engine.ErrNotPermitted) {
		return rest.NotPermitted(op)
	}
	return err
}

func (g *guard) permitDesired(ctx context.Context, op desiredapi.Operation) error {
	return g.permit(ctx, op.ID, op.Method, op.Access)
}

func (g *guard) permitControl(ctx context.Context, op control.Operation) error {
	return g.permit(ctx, op.ID, op.Method, op.Access)
}

func (g *guard) permitWebhooks(ctx context.Context, op webhooksapi.Operation) error {
	err := g.permit(ctx, op.ID, op.Method, op.Access...)
	if missing, ok := exchangeOf(ctx).token.lacks(op.Access...); ok && errors.Is(err, engine.ErrNotPermitted) {
		return rest.NotPermitted(rest.Info{ID: op.ID, Access: missing})
	}
	return err
}

// permit checks whether the caller may run an operation: whether the token has all permissions. A write gets an entry in the audit log,
// also if it is rejected.
func (g *guard) permit(ctx context.Context, id, method string, access ...string) error {
	x := exchangeOf(ctx)
	nameSpan(ctx, id, x.tenant)
	_, lacking := x.token.lacks(access...)
	permitted := !lacking
	if method != http.MethodGet && !slices.Contains(access, engine.AccessRead) {
		status := 0
		if !permitted {
			status = http.StatusForbidden
		}
		seq, err := g.audit.begin(ctx, entry{
			At: g.now(), Tenant: x.tenant, Caller: x.token.ID, Name: x.token.Name, Operation: id,
			Object: objectOf(rest.RequestOf(ctx).Path), Request: rest.RequestID(ctx), Status: status,
		})
		if err != nil {
			return fmt.Errorf("write the audit log: %w", err)
		}
		if permitted {
			x.audited = seq
		}
	}
	if !permitted {
		return engine.ErrNotPermitted
	}
	if id == "putApp" || id == "deleteApp" {
		return g.settings.Load().checkApp(rest.PathVar(ctx, "app"), x.tenant)
	}
	return nil
}

// maxObject is the maximum length of an object in the audit log, in bytes.
const maxObject = 1000

// objectOf returns what a path names, without the prefix of the API.
func objectOf(path string) string {
	object := strings.ToValidUTF8(strings.ReplaceAll(strings.TrimPrefix(path, desiredapi.DefaultPrefix), "\x00", ""), "")
	if len(object) > maxObject {
		object = strings.ToValidUTF8(object[:maxObject], "") + "..."
	}
	return object
}
