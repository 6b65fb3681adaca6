package sandbox

import (
	"context"
	"crypto/rand"
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
	// sandboxPasswordCost is the bcrypt cost of the sandbox's SCIM servers. It is low because every create contains a random placeholder
	// password: with a higher cost, the hashing of these passwords would delay the start.
	sandboxPasswordCost = 6
	// maxCreatedTenants is the maximum number of tenants that are created while the sandbox runs. Each has its own tables.
	maxCreatedTenants = 500
	// maxTokens is the maximum number of tokens of one tenant. The server compares the token of each request with all of them.
	maxTokens = 100
)

// providers manages the SCIM servers of the sandbox for the sandbox API. It stores the tenants and tokens that clients create with the
// sandbox API, so that the next run has them too.
//
// Several sandboxes on one PostgreSQL database have the same service providers: those of the configuration, which must be the same, and
// what is stored. Each change replaces the document of changes in its transaction, and the others read all documents again, see following.
type providers struct {
	tenants *tenants.Tenants
	store   *docstore.Store
	stored  docstore.Collection[storedTenant]

	replicas *replicas // nil on SQLite
	drop     func(ctx context.Context, c tenants.Config) error
	changes  docstore.Collection[changeCount] // used only with replicas

	mu    sync.Mutex // locked during changes, so that docs and the database agree
	docs  map[string]storedTenant
	rev   int64                     // revision of the document of changes that docs was read at
	given map[string]tenants.Config // the tenants of the configuration
	set   map[string]int            // how often the quirks of a tenant had been set when they were applied
}

var _ sandboxport.Providers = (*providers)(nil)

// storedTenant is a tenant in the database. Its id is the name of the tenant. Tokens are stored as digests.
type storedTenant struct {
	// Created reports whether the tenant was created with the sandbox API. All other tenants are configured at each start; only their
	// additional tokens are stored.
	Created bool     `json:"created,omitempty"`
	Tokens  []string `json:"tokens,omitempty"`
	Quirks  []string `json:"quirks,omitempty"`
	Refuse  []string `json:"refuse,omitempty"`

	// These members are used only by replicas on one database.

	// Set is the number of times that the quirks were set. If the tenant was not created with the sandbox API, Quirks replaces the quirks of
	// the configuration unless Set is zero.
	Set int `json:"set,omitempty"`
	// Instance differs between two tenants that were created with the same name, one after the other.
	Instance string `json:"instance,omitempty"`
	// Leaving reports that the tenant is being removed: no replica serves it.
	Leaving bool `json:"leaving,omitempty"`
}

// changeCount is the document that each change of the stored tenants replaces.
type changeCount struct {
	Changes int64 `json:"changes"`
}

func changeCollection() docstore.Collection[changeCount] {
	return docstore.NewCollection[changeCount]("sandbox_tenant_changes")
}

func tenantCollection() docstore.Collection[storedTenant] {
	return docstore.NewCollection[storedTenant]("sandbox_tenants")
}

// builtIn returns the built-in tenants and those of a file. The engine provisions into the two built-in tenants with the sandbox's own
// token, so these tenants always accept the token, whatever the file contains. The quirks apply to built-in tenants that the file does not
// configure.
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

// start serves the tenants of this run, and the tenants and tokens that were created with the sandbox API in earlier runs.
func (p *providers) start(ctx context.Context, given []tenants.Config) error {
	p.given, p.set = map[string]tenants.Config{}, map[string]int{}
	var err error
	if p.docs, err = p.read(ctx, p.store.Reader()); err != nil {
		return err
	}
	for _, c := range given {
		if p.docs[c.Name].Created {
			return &nameConflictError{c.Name}
		}
		p.given[c.Name] = c
	}
	all, err := p.configs()
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := p.add(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (p *providers) add(ctx context.Context, c tenants.Config) error {
	p.set[c.Name] = p.docs[c.Name].Set
	c.Shared = p.replicas.quirksOf(c.Name, p.set[c.Name])
	_, err := p.tenants.Add(ctx, c)
	return err
}

// read reads all stored tenants.
func (p *providers) read(ctx context.Context, q docstore.Reader) (map[string]storedTenant, error) {
	docs := map[string]storedTenant{}
	for query := (docstore.Query[storedTenant]{}); ; {
		page, err := p.stored.Query(ctx, q, query)
		if err != nil {
			return nil, err
		}
		for _, doc := range page.Docs {
			docs[doc.ID] = doc.Value
		}
		if query.After = page.Next; query.After == "" {
			return docs, nil
		}
	}
}

// configs returns the configuration of all tenants to serve, by name: that of this run with the stored changes, and the created tenants.
func (p *providers) configs() (map[string]tenants.Config, error) {
	all := maps.Clone(p.given)
	for name, doc := range p.docs {
		given, ok := p.given[name]
		switch {
		case doc.Created && doc.Leaving:
			continue
		case doc.Created:
			c, err := doc.config(name)
			if err != nil {
				return nil, err
			}
			all[name] = c
		case ok:
			made, err := parseTokens(doc.Tokens, nil)
			if err != nil {
				return nil, err
			}
			for _, t := range made {
				if !slices.ContainsFunc(given.Tokens, sameToken(t)) {
					given.Tokens = append(given.Tokens[:len(given.Tokens):len(given.Tokens)], t)
				}
			}
			if doc.Set > 0 {
				if given.Quirks, err = quirks.ParseAll(doc.Quirks); err != nil {
					return nil, err
				}
			}
			all[name] = given
		}
	}
	return all, nil
}

// nameConflictError is returned if the configuration of this run names a tenant that an earlier run created at /sandbox/v1/scim.
type nameConflictError struct{ name string }

func (e *nameConflictError) Error() string {
	return "the tenant " + e.name + " was created at /sandbox/v1/scim in an earlier run; delete it there or choose another name"
}

func sameToken(t tenants.Token) func(tenants.Token) bool {
	return func(other tenants.Token) bool { return other.Digest == t.Digest }
}

func (k storedTenant) config(name string) (tenants.Config, error) {
	c := tenants.Config{Name: name}
	var errs [3]error
	c.Tokens, errs[0] = parseTokens(k.Tokens, nil)
	c.Quirks, errs[1] = quirks.ParseAll(k.Quirks)
	c.Refuse, errs[2] = lenient.Parse(k.Refuse...)
	return c, errors.Join(errs[:]...)
}

// save stores a tenant. The caller holds the lock.
func (p *providers) save(ctx context.Context, name string, k storedTenant) error {
	err := p.update(ctx, func(tx *docstore.Tx) error {
		if k.Set != p.docs[name].Set {
			if err := p.replicas.dropQuirks(ctx, tx.SQL(), name); err != nil {
				return err
			}
		}
		_, err := p.stored.Update(ctx, tx, name, 0, k)
		if errors.Is(err, docstore.ErrNotFound) {
			_, err = p.stored.Insert(ctx, tx, name, k)
		}
		return err
	})
	if err == nil {
		p.docs[name] = k
	}
	return err
}

// find returns a tenant by name.
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
		Lenient: (lenient.All &^ c.Refuse).Names(), Quirks: stringsOf(c.Quirks),
	}
	for _, token := range c.Tokens {
		out.Tokens = append(out.Tokens, showToken(token))
	}
	return out
}

func showToken(t tenants.Token) sandboxport.ProviderToken {
	return sandboxport.ProviderToken{ID: t.ID(), NewToken: sandboxport.NewToken{ReadOnly: t.ReadOnly, Expires: t.Expires, Me: t.Me}}
}

// stringsOf returns settings or tokens in the format in which they are stored and shown.
func stringsOf[T interface{ String() string }](list []T) []string {
	out := []string{}
	for _, item := range list {
		out = append(out, item.String())
	}
	return out
}

// tryCreate does the work of Create.
func (p *providers) tryCreate(ctx context.Context, wanted sandboxport.NewProvider) (sandboxport.Provider, string, error) {
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

	if err := p.lock(ctx); err != nil {
		return fail(err)
	}
	defer p.mu.Unlock()
	if _, taken := p.tenants.Get(c.Name); taken || p.docs[c.Name].Created {
		return fail(rest.NotUnique("name"))
	}
	if n := len(slices.DeleteFunc(slices.Collect(maps.Values(p.docs)), func(k storedTenant) bool { return !k.Created })); n >=
		maxCreatedTenants {
		return fail(rest.Failf(rest.CodeTooMany, "There are %d created service providers, the maximum.", n))
	}
	// The tenant is stored before it is served. With the other order, a crash between the two steps would leave tables that belong to no
	// stored tenant and are never removed.
	k := storedTenant{Created: true, Tokens: stringsOf(c.Tokens), Quirks: stringsOf(c.Quirks), Refuse: c.Refuse.Names()}
	if p.replicas != nil {
		k.Instance = rand.Text()
	}
	if err := p.save(ctx, c.Name, k); err != nil {
		return fail(err)
	}
	if err := p.add(ctx, c); err != nil {
		return fail(errors.Join(err, p.forget(ctx, c.Name)))
	}
	t, err := p.find(c.Name)
	if err != nil {
		return fail(err)
	}
	return p.show(t), value, nil
}

func parseQuirks(active []string) ([]quirks.Setting, error) {
	settings, err := quirks.ParseAll(active)
	if err != nil {
		return nil, err
	}
	_, err = quirks.New(http.NotFoundHandler(), settings...) // rejects quirks that exclude each other
	return settings, err
}

// forget deletes the stored tenant. The caller holds the lock.
func (p *providers) forget(ctx context.Context, name string) error {
	err := p.update(ctx, func(tx *docstore.Tx) error {
		if err := p.replicas.dropQuirks(ctx, tx.SQL(), name); err != nil {
			return err
		}
		return p.stored.Delete(ctx, tx, name)
	})
	if err == nil {
		delete(p.docs, name)
	}
	return err
}

// tryRemove does the work of Remove.
func (p *providers) tryRemove(ctx context.Context, name string) error {
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.mu.Unlock()
	switch _, err := p.find(name); {
	case p.docs[name].Created:
	case err != nil:
		return err
	default:
		return rest.Failf(rest.CodeForbidden,
			"The service provider %s was not created with this API: it is configured at the start of the sandbox.", name)
	}
	if p.replicas == nil {
		if err := p.tenants.Remove(ctx, name); err != nil && !errors.Is(err, tenants.ErrNotFound) {
			return err
		}
		return p.forget(ctx, name)
	}
	// The other replicas stop the tenant before its tables are removed.
	k := p.docs[name]
	k.Leaving = true
	if err := p.save(ctx, name, k); err != nil {
		return err
	}
	if err := p.tenants.Stop(ctx, name); err != nil && !errors.Is(err, tenants.ErrNotFound) {
		return err
	}
	c, err := k.config(name)
	if err != nil {
		return err
	}
	if err := p.drop(ctx, c); err != nil {
		return err
	}
	return p.forget(ctx, name)
}

// tryCreateToken does the work of CreateToken.
func (p *providers) tryCreateToken(
	ctx context.Context, name string, wanted sandboxport.NewToken,
) (sandboxport.ProviderToken, string, error) {
	if err := p.lock(ctx); err != nil {
		return sandboxport.ProviderToken{}, "", err
	}
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
		return sandboxport.ProviderToken{}, "", rest.Failf(rest.CodeTooMany, "The service provider has %d tokens, the maximum.", len(list))
	}
	k := p.docs[name]
	k.Tokens = append(slices.Clone(k.Tokens), made.String())
	if err := p.save(ctx, name, k); err != nil {
		return sandboxport.ProviderToken{}, "", err
	}
	return showToken(made), value, t.SetTokens(append(list, made)...)
}

// tryRemoveToken does the work of RemoveToken.
func (p *providers) tryRemoveToken(ctx context.Context, name, id string) error {
	if err := p.lock(ctx); err != nil {
		return err
	}
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
		return rest.Failf(rest.CodeForbidden, "The token %s was not created with this API: it is configured at the start of the sandbox.", id)
	}
	k.Tokens = slices.Delete(slices.Clone(k.Tokens), j, j+1)
	if err := p.save(ctx, name, k); err != nil {
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
	return stringsOf(t.Config().Quirks), available, nil
}

// trySetQuirks does the work of SetQuirks.
func (p *providers) trySetQuirks(ctx context.Context, name string, active []string) error {
	if err := p.lock(ctx); err != nil {
		return err
	}
	defer p.mu.Unlock()
	t, err := p.find(name)
	if err != nil {
		return err
	}
	settings, err := parseQuirks(active)
	if err != nil {
		return err
	}
	if k := p.docs[name]; k.Created || p.replicas != nil {
		k.Quirks = stringsOf(settings)
		if p.replicas != nil {
			k.Set++
		}
		if err := p.save(ctx, name, k); err != nil {
			return err
		}
	}
	p.set[name] = p.docs[name].Set
	return t.SetSharedQuirks(p.replicas.quirksOf(name, p.set[name]), settings...)
}
