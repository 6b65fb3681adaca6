package hookkeys

import (
	"context"
	"encoding/json"

	"github.com/scimwright/scimwright/internal/openapi"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// Options configure the slice.
type Options struct {
	// Secrets encrypts the private keys.
	Secrets seal.Secrets
	// KeySource generates the key pairs. Default: the source of package signkey.
	KeySource signkey.Source
}

// Slice serves the hook keys.
type Slice struct {
	model.Deps
	secrets seal.Secrets
	source  signkey.Source
}

// New returns the slice.
func New(d model.Deps, o Options) *Slice {
	return &Slice{Deps: d, secrets: o.Secrets, source: o.KeySource}
}

const (
	tag  = "Hook keys"
	root = "/api/v1/hook-keys"
	one  = root + "/{id}"
	kind = "HookKey"
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.inlineHooks.read"}, []string{"svc.inlineHooks.manage"}
	return []rest.Route{
		rest.Op[createRequest, HookKey]{
			ID: "createHookKey", Route: "POST " + root, Tag: tag, Scopes: write, Summary: "Creates a key pair", Do: s.create,
		},
		rest.Op[struct{}, rest.Page[HookKey]]{
			ID: "listHookKeys", Route: "GET " + root, Tag: tag, Scopes: read, Summary: "Lists all hook keys, without their public keys",
			Do: s.list,
		},
		rest.Op[getRequest, HookKeyOrPublic]{
			ID: "getHookKey", Route: "GET " + one, Tag: tag, Scopes: read,
			Summary: "Reads a hook key by its id, or the public key alone by its key id", Find: s.findForGet, Do: s.get,
		},
		rest.Op[publicRequest, HookPublicKey]{
			ID: "getPublicKey", Route: "GET " + root + "/public/{keyId}", Tag: tag, Scopes: read,
			Summary: "Reads the public key of a hook key", Find: s.findPublic, Do: s.public,
		},
		rest.Op[replaceRequest, HookKey]{
			ID: "replaceHookKey", Route: "PUT " + one, Tag: tag, Scopes: write, Summary: "Renames a hook key",
			Find: lookup.In(s.Store, s.find, (*replaceRequest).self), Do: s.replace,
		},
		rest.Op[target, rest.NoContent]{
			ID: "deleteHookKey", Route: "DELETE " + one, Tag: tag, Scopes: write, Summary: "Deletes a hook key that no inline hook uses",
			Find: lookup.In(s.Store, s.find, (*target).self), Do: s.delete,
		},
	}
}

// HookKey is a hook key in JSON.
type HookKey struct {
	ID          string         `json:"id" readOnly:"true" doc:"Id of the key."`
	KeyID       string         `json:"keyId" readOnly:"true" doc:"Id of the public key, the kid of signatures."`
	Name        string         `json:"name" readOnly:"true" doc:"Name of the key."`
	IsUsed      bool           `json:"isUsed" readOnly:"true" doc:"Whether an inline hook uses the key."`
	Created     rest.Time      `json:"created" readOnly:"true" doc:"When the key was created."`
	LastUpdated rest.Time      `json:"lastUpdated" readOnly:"true" doc:"When the key was last changed."`
	Embedded    *HookPublicKey `json:"_embedded,omitempty" readOnly:"true" doc:"The public key. Not part of lists."`
}

// HookPublicKey is the public key of a hook key (RFC 7517, RFC 7518 section 6.3.1).
type HookPublicKey struct {
	Kty string  `json:"kty" readOnly:"true" doc:"RSA."`
	Alg string  `json:"alg" readOnly:"true" doc:"RSA."`
	Kid string  `json:"kid" readOnly:"true" doc:"The key id."`
	Use *string `json:"use" readOnly:"true" doc:"Always null."`
	E   string  `json:"e" readOnly:"true" doc:"Exponent."`
	N   string  `json:"n" readOnly:"true" doc:"Modulus."`
}

// HookKeyOrPublic is the response of the path that accepts two kinds of ids: the key for its id, or the public key for its key id.
type HookKeyOrPublic struct{ shown any }

// MarshalJSON writes the key or the public key.
func (k HookKeyOrPublic) MarshalJSON() ([]byte, error) { return json.Marshal(k.shown) }

// OpenAPISchema describes both forms.
func (HookKeyOrPublic) OpenAPISchema() *openapi.Schema {
	return &openapi.Schema{OneOf: []*openapi.Schema{openapi.Component("HookKey"), openapi.Component("HookPublicKey")}}
}

// algorithm is the alg member of public keys: only the family, RSA.
const algorithm = "RSA"

func publicHalf(k *model.HookKey) (HookPublicKey, error) {
	jwk, err := k.Key.JWK()
	return HookPublicKey{Kty: jwk.Kty, Alg: algorithm, Kid: k.KeyID, E: jwk.E, N: jwk.N}, err
}

// render returns a key without its public key.
func (s *Slice) render(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.HookKey]) (HookKey, error) {
	used, err := s.HookKeyUsed(ctx, q, doc.ID)
	return HookKey{
		ID: doc.ID, KeyID: doc.Value.KeyID, Name: doc.Value.Name, IsUsed: used, Created: rest.TimeOf(doc.Created),
		LastUpdated: rest.TimeOf(doc.Updated),
	}, err
}

// renderWhole returns a key with its public key.
func (s *Slice) renderWhole(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.HookKey]) (HookKey, error) {
	out, err := s.render(ctx, q, doc)
	if err != nil {
		return out, err
	}
	public, err := publicHalf(&doc.Value)
	out.Embedded = &public
	return out, err
}

// target is the hook key in a path, by its id.
type target struct {
	ID string `path:"id" doc:"Id of the key."`

	found docstore.Doc[model.HookKey]
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	t.found, err = s.HookKeys.Get(ctx, q, t.ID)
	return rest.Missing(err, kind, t.ID)
}

// findByKeyID finds a key by the key id of its public key.
func (s *Slice) findByKeyID(ctx context.Context, keyID string) (docstore.Doc[model.HookKey], error) {
	page, err := s.HookKeys.Query(ctx, s.Store.Reader(),
		docstore.Query[model.HookKey]{Where: docstore.Eq(model.HookKeyByKeyID, keyID), Limit: 1})
	if err != nil {
		return docstore.Doc[model.HookKey]{}, err
	}
	if len(page.Docs) == 0 {
		return docstore.Doc[model.HookKey]{}, rest.NotFound(kind, keyID)
	}
	return page.Docs[0], nil
}

type getRequest struct {
	ID     string `path:"id" doc:"Id of the key, or its key id."`
	Expand string `query:"expand" doc:"publickey. Has no effect: the public key is always included."`

	found    docstore.Doc[model.HookKey]
	byPublic bool
}

func (s *Slice) findForGet(ctx context.Context, r *getRequest) (err error) {
	if r.byPublic = model.IsUUID(r.ID); r.byPublic {
		r.found, err = s.findByKeyID(ctx, r.ID)
		return err
	}
	t := target{ID: r.ID}
	err = s.find(ctx, s.Store.Reader(), &t)
	r.found = t.found
	return err
}

func (s *Slice) get(ctx context.Context, r *getRequest) (HookKeyOrPublic, error) {
	if r.byPublic {
		public, err := publicHalf(&r.found.Value)
		return HookKeyOrPublic{public}, err
	}
	key, err := s.renderWhole(ctx, s.Store.Reader(), r.found)
	return HookKeyOrPublic{key}, err
}

type publicRequest struct {
	KeyID string `path:"keyId" doc:"Key id of the key."`

	found docstore.Doc[model.HookKey]
}

func (s *Slice) findPublic(ctx context.Context, r *publicRequest) (err error) {
	r.found, err = s.findByKeyID(ctx, r.KeyID)
	return err
}

func (s *Slice) public(_ context.Context, r *publicRequest) (HookPublicKey, error) {
	return publicHalf(&r.found.Value)
}

func (s *Slice) list(ctx context.Context, _ *struct{}) (out rest.Page[HookKey], err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		out = rest.Page[HookKey]{}
		return model.Each(ctx, q, s.HookKeys, nil, func(doc docstore.Doc[model.HookKey]) error {
			key, err := s.render(ctx, q, doc)
			out.Items = append(out.Items, key)
			return err
		})
	})
	return out, err
}
