package sandbox

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scimserver/quirks"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

const (
	// sandboxPasswordCost is the bcrypt cost of the sandbox's SCIM servers: low, because a sandbox receives a random
	// placeholder with every create and its start should not be spent on hashing those.
	sandboxPasswordCost = 6
	// maxCreatedTenants bounds the tenants that are created while the sandbox runs; each has tables of its own.
	maxCreatedTenants = 500
	// maxTokens bounds the tokens of one tenant; a request is compared with each.
	maxTokens = 100
)

// providers are the SCIM servers of the sandbox as its control port sees them. The tenants that are created there and the
// tokens that are made there are kept for the next run.
type providers struct {
	tenants *tenants.Tenants
	store   *docstore.Store
	kept    docstore.Collection[keptTenant]

	mu   sync.Mutex // held during changes, so that what is served and what is kept agree
	docs map[string]keptTenant
}

var _ sandboxport.Providers = (*providers)(nil)

// keptTenant is what the database remembers of a tenant, with its name as id. Of tokens it has the digests.
type keptTenant struct {
	// Created says that the tenant itself was made at the control port. Others are there at every start, and only their
	// further tokens are kept.
	Created bool     `json:"created,omitempty"`
	Tokens  []string `json:"tokens,omitempty"`
	Quirks  []string `json:"quirks,omitempty"`
	Refuse  []string `json:"refuse,omitempty"`
}

func tenantCollection() docstore.Collection[keptTenant] {
	return docstore.NewCollection[keptTenant]("sandbox_tenants")
}

// builtIn are the tenants that every sandbox has, and those of a file. The sandbox's own token is good at the first two, whatever
// the file says, because the engine provisions into them with it; the quirks are for those that the file does not name.
func builtIn(token string, active []string, file []tenants.Config) ([]tenants.Config, error) {
	settings, err := parseQuirks(active)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(file)
	for _, name := range []string{chatTarget, tenants.Default} {
		i := slices.IndexFunc(all, func(c tenants.Config) bool { return c.Name == name })
		if i < 0 {
			all = slices.Insert(all, 0, tenants.Config{Name: name, Quirks: settings})
			i = 0
		}
		own := tenants.NewToken(token)
		others := slices.DeleteFunc(slices.Clone(all[i].Tokens), func(t tenants.Token) bool { return t.Digest == own.Digest })
		all[i].Tokens = slices.Concat([]tenants.Token{own}, others)
	}
	return all, nil
}

// start serves the tenants of this run, and what was made at the control port in earlier ones.
func (p *providers) start(ctx context.Context, given []tenants.Config) error {
	p.docs = map[string]keptTenant{}
	for query := (docstore.Query[keptTenant]{}); ; {
		page, err := p.kept.Query(ctx, p.store.Reader(), query)
		if err != nil {
			return err
		}
		for _, doc := range page.Docs {
			p.docs[doc.ID] = doc.Value
		}
		if query.After = page.Next; query.After == "" {
			break
		}
	}
	for _, c := range given {
		if doc, ok := p.docs[c.Name]; ok && doc.Created {
			return &takenError{c.Name}
		} else if ok {
			made, err := parseTokens(doc.Tokens, nil)
			if err != nil {
				return err
			}
			for _, t := range made {
				if !slices.ContainsFunc(c.Tokens, sameToken(t)) {
					c.Tokens = append(c.Tokens[:len(c.Tokens):len(c.Tokens)], t)
				}
			}
		}
		if _, err := p.tenants.Add(ctx, c); err != nil {
			return err
		}
	}
	for name, doc := range p.docs {
		if !doc.Created {
			continue
		}
		c, err := doc.config(name)
		if err != nil {
			return err
		}
		if _, err := p.tenants.Add(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// takenError says that a tenant of this run has the name of one that was created before.
type takenError struct{ name string }

func (e *takenError) Error() string {
	return "the tenant " + e.name + " was created at /sandbox/v1/scim in an earlier run; remove it there, or take another name"
}

func sameToken(t tenants.Token) func(tenants.Token) bool {
	return func(other tenants.Token) bool { return other.Digest == t.Digest }
}

func (k keptTenant) config(name string) (tenants.Config, error) {
	c := tenants.Config{Name: name}
	var errs [3]error
	c.Tokens, errs[0] = parseTokens(k.Tokens, nil)
	c.Quirks, errs[1] = quirks.ParseAll(k.Quirks)
	c.Refuse, errs[2] = lenient.Parse(k.Refuse...)
	return c, errors.Join(errs[:]...)
}

// keep stores what is to be remembered of a tenant. The caller holds the lock.
func (p *providers) keep(ctx context.Context, name string, k keptTenant) error {
	err := p.store.Update(ctx, func(tx *docstore.Tx) error {
		_, err := p.kept.Update(ctx, tx, name, 0, k)
		if errors.Is(err, docstore.ErrNotFound) {
			_, err = p.kept.Insert(ctx, tx, name, k)
		}
		return err
	})
	if err == nil {
		p.docs[name] = k
	}
	return err
}

// find returns a tenant that is served.
func (p *providers) find(name string) (*tenants.Tenant, error) {
	t, ok := p.tenants.Get(name)
	if !ok {
		return nil, sandboxport.ErrNoProvider
	}
	return t, nil
}

// List implements sandboxport.Providers.
func (p *providers) List() []sandboxport.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []sandboxport.Provider
	for _, t := range p.tenants.All() {
		out = append(out, p.show(t))
	}
	return out
}

// Get implements sandboxport.Providers.
func (p *providers) Get(name string) (sandboxport.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(name)
	if err != nil {
		return sandboxport.Provider{}, err
	}
	return p.show(t), nil
}

func (p *providers) show(t *tenants.Tenant) sandboxport.Provider {
	c := t.Config()
	out := sandboxport.Provider{
		Name: c.Name, Path: tenants.Prefix(c.Name), Created: p.docs[c.Name].Created,
		Lenient: (lenient.All &^ c.Refuse).Names(), Quirks: texts(c.Quirks),
	}
	for _, token := range c.Tokens {
		out.Tokens = append(out.Tokens, showToken(token))
	}
	return out
}

func showToken(t tenants.Token) sandboxport.ProviderToken {
	return sandboxport.ProviderToken{ID: t.ID(), NewToken: sandboxport.NewToken{ReadOnly: t.ReadOnly, Expires: t.Expires, Me: t.Me}}
}

// texts are the settings or tokens as they are kept and shown.
func texts[T interface{ String() string }](list []T) []string {
	out := []string{}
	for _, item := range list {
		out = append(out, item.String())
	}
	return out
}

// Create implements sandboxport.Providers.
func (p *providers) Create(ctx context.Context, wanted sandboxport.NewProvider) (sandboxport.Provider, string, error) {
	fail := func(err error) (sandboxport.Provider, string, error) { return sandboxport.Provider{}, "", err }
	value := newToken()
	c := tenants.Config{Name: wanted.Name, Tokens: []tenants.Token{tenants.NewToken(value)}}
	if err := tenants.CheckName(c.Name); err != nil {
		return fail(rest.Invalid("name", "%v", err))
	}
	var err error
	if c.Quirks, err = parseQuirks(wanted.Quirks); err != nil {
		return fail(rest.Invalid("quirks", "%v", err))
	}
	if wanted.Lenient != nil {
		accepted, err := lenient.Parse(wanted.Lenient...)
		if err != nil {
			return fail(rest.Invalid("lenient", "%v", err))
		}
		c.Refuse = lenient.All &^ accepted
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.tenants.Get(c.Name); taken || p.docs[c.Name].Created {
		return fail(rest.NotUnique("name"))
	}
	if n := len(slices.DeleteFunc(slices.Collect(maps.Values(p.docs)), func(k keptTenant) bool { return !k.Created })); n >=
		maxCreatedTenants {
		return fail(rest.Failf(rest.CodeTooMany, "There are %d created service providers, which is the most.", n))
	}
	// What is kept comes first: a tenant that is served and not kept would leave its tables behind.
	if err := p.keep(ctx, c.Name,
		keptTenant{Created: true, Tokens: texts(c.Tokens), Quirks: texts(c.Quirks), Refuse: c.Refuse.Names()}); err != nil {
		return fail(err)
	}
	t, err := p.tenants.Add(ctx, c)
	if err != nil {
		return fail(errors.Join(err, p.forget(ctx, c.Name)))
	}
	return p.show(t), value, nil
}

func parseQuirks(active []string) ([]quirks.Setting, error) {
	settings, err := quirks.ParseAll(active)
	if err != nil {
		return nil, err
	}
	_, err = quirks.New(http.NotFoundHandler(), settings...) // which refuses what does not go together
	return settings, err
}

// forget ends what is remembered of a tenant. The caller holds the lock.
func (p *providers) forget(ctx context.Context, name string) error {
	err := p.store.Update(ctx, func(tx *docstore.Tx) error { return p.kept.Delete(ctx, tx, name) })
	if err == nil {
		delete(p.docs, name)
	}
	return err
}

// Remove implements sandboxport.Providers.
func (p *providers) Remove(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch _, err := p.find(name); {
	case p.docs[name].Created:
	case err != nil:
		return err
	default:
		return rest.Failf(rest.CodeForbidden, "The service provider %s was not created here: it is there at every start.", name)
	}
	if err := p.tenants.Remove(ctx, name); err != nil && !errors.Is(err, tenants.ErrNotFound) {
		return err
	}
	return p.forget(ctx, name)
}

// CreateToken implements sandboxport.Providers.
func (p *providers) CreateToken(ctx context.Context, name string, wanted sandboxport.NewToken) (sandboxport.ProviderToken, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(name)
	if err != nil {
		return sandboxport.ProviderToken{}, "", err
	}
	value := newToken()
	made := tenants.NewToken(value)
	made.ReadOnly, made.Expires, made.Me = wanted.ReadOnly, wanted.Expires, wanted.Me
	list := t.Config().Tokens
	if len(list) >= maxTokens {
		return sandboxport.ProviderToken{}, "", rest.Failf(rest.CodeTooMany, "The service provider has %d tokens, which is the most.", len(list))
	}
	k := p.docs[name]
	k.Tokens = append(slices.Clone(k.Tokens), made.String())
	if err := p.keep(ctx, name, k); err != nil {
		return sandboxport.ProviderToken{}, "", err
	}
	return showToken(made), value, t.SetTokens(append(list, made)...)
}

// RemoveToken implements sandboxport.Providers.
func (p *providers) RemoveToken(ctx context.Context, name, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(name)
	if err != nil {
		return err
	}
	list := t.Config().Tokens
	i := slices.IndexFunc(list, func(token tenants.Token) bool { return token.ID() == id })
	if i < 0 {
		return rest.NotFound("Token", id)
	}
	k := p.docs[name]
	j := slices.Index(k.Tokens, list[i].String())
	if j < 0 {
		return rest.Failf(rest.CodeForbidden, "The token %s was not created here: it is there at every start.", id)
	}
	k.Tokens = slices.Delete(slices.Clone(k.Tokens), j, j+1)
	if err := p.keep(ctx, name, k); err != nil {
		return err
	}
	return t.SetTokens(slices.Delete(list, i, i+1)...)
}

// Quirks implements sandboxport.Providers.
func (p *providers) Quirks(name string) (active []string, available []sandboxport.Quirk, err error) {
	t, err := p.find(name)
	if err != nil {
		return nil, nil, err
	}
	for _, q := range quirks.All() {
		available = append(available, sandboxport.Quirk{Usage: q.Usage(), Category: string(q.Category), Does: q.Does, Seen: q.Seen})
	}
	return texts(t.Config().Quirks), available, nil
}

// SetQuirks implements sandboxport.Providers. Those of a tenant that was created here are kept, those of others last as long as
// the sandbox runs.
func (p *providers) SetQuirks(ctx context.Context, name string, active []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(name)
	if err != nil {
		return err
	}
	settings, err := parseQuirks(active)
	if err != nil {
		return err
	}
	if k := p.docs[name]; k.Created {
		k.Quirks = texts(settings)
		if err := p.keep(ctx, name, k); err != nil {
			return err
		}
	}
	return t.SetQuirks(settings...)
}
