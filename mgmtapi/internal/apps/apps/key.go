package apps

import (
	"context"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// Key is the public part of a signing key of an application.
type Key struct {
	signkey.JWK
	X5C         []string  `json:"x5c" readOnly:"true" doc:"The certificate, in base64."`
	X5TS256     string    `json:"x5t#S256" readOnly:"true" doc:"SHA-256 thumbprint of the certificate."`
	Created     rest.Time `json:"created" readOnly:"true" doc:"When the key was created."`
	LastUpdated rest.Time `json:"lastUpdated" readOnly:"true" doc:"When the application got the key."`
	ExpiresAt   rest.Time `json:"expiresAt" readOnly:"true" doc:"When the certificate expires."`
}

func renderKey(doc docstore.Doc[model.AppKey]) (Key, error) {
	k := doc.Value.Key
	public, err := k.JWK()
	return Key{
		JWK: public, X5C: k.X5C(), X5TS256: k.X5TS256(),
		Created: rest.TimeOf(k.Created), LastUpdated: rest.TimeOf(doc.Updated), ExpiresAt: rest.TimeOf(k.Expires),
	}, err
}

func (s *Slice) keyRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[getRequest, []Key]{
			ID: "listApplicationKeys", Route: "GET /api/v1/apps/{appId}/credentials/keys", Tag: tag, Scopes: readScope,
			Summary: "Lists the signing keys of an application", Find: lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*getRequest).at),
			Do: s.listKeys,
		},
		rest.Op[generateRequest, Key]{
			ID: "generateApplicationKey", Route: "POST /api/v1/apps/{appId}/credentials/keys/generate", Tag: tag, Scopes: writeScope,
			Status: http.StatusCreated, Summary: "Creates a signing key for an application",
			Description: "To sign with the key, set credentials.signing.kid of the application to its id.",
			Find:        lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*generateRequest).at), Do: s.generateKey,
		},
		rest.Op[keyRequest, Key]{
			ID: "getApplicationKey", Route: "GET /api/v1/apps/{appId}/credentials/keys/{kid}", Tag: tag, Scopes: readScope,
			Summary: "Reads a signing key of an application", Find: lookup.In(s.Store, s.findKey, (*keyRequest).self), Do: s.getKey,
		},
		rest.Op[cloneRequest, Key]{
			ID: "cloneApplicationKey", Route: "POST /api/v1/apps/{appId}/credentials/keys/{kid}/clone", Tag: tag, Scopes: writeScope,
			Status: http.StatusCreated, Summary: "Shares a signing key with another application",
			Find: lookup.In(s.Store, s.findKey, (*cloneRequest).self), Do: s.cloneKey,
		},
		rest.Op[metadataRequest, rest.XML]{
			ID: "previewSAMLMetadataForApplication", Route: "GET /api/v1/apps/{appId}/sso/saml/metadata", Tag: tag, Scopes: readScope,
			Summary: "Reads the SAML metadata of the identity provider that an application sees",
			Find:    lookup.Found(s.Store, s.Apps.Get, "AppInstance", (*metadataRequest).at), Do: s.metadata,
		},
	}
}

// ensureOwnKey creates the first key of an application, which is generated when it is first used.
func (s *Slice) ensureOwnKey(ctx context.Context, app docstore.Doc[model.App]) error {
	kid := app.Value.Credentials.OwnKID
	if kid == "" {
		return nil
	}
	id := model.AppKeyID(app.ID, kid)
	if found, err := model.Optional(ctx, s.Store.Reader(), s.AppKeys, id); err != nil || found != nil {
		return err
	}
	// Outside of the transaction: generating a key is slow, and other writers would wait.
	key, err := signkey.New(s.Secrets, signkey.Options{ID: kid, Name: s.Subdomain, Now: app.Created, Source: s.KeySource})
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *docstore.Tx) error {
		if _, err := s.find(ctx, tx, app.ID); err != nil {
			return err
		}
		if found, err := model.Optional(ctx, tx, s.AppKeys, id); err != nil || found != nil {
			return err // err is nil if a concurrent request has created the key
		}
		_, err := s.AppKeys.Insert(ctx, tx, id, model.AppKey{AppID: app.ID, Key: key})
		return err
	})
}

// key reads a key of an application, or returns a 404 error.
func (s *Slice) key(ctx context.Context, q docstore.Reader, app docstore.Doc[model.App], kid string) (doc docstore.Doc[model.AppKey],
	err error) {
	if kid == app.Value.Credentials.OwnKID {
		if err := s.ensureOwnKey(ctx, app); err != nil {
			return doc, err
		}
	}
	doc, err = s.AppKeys.Get(ctx, q, model.AppKeyID(app.ID, kid))
	return doc, rest.Missing(err, "OAuth2Key", kid)
}

// listKeys lists the keys: the first key of the application, then the others in the order in which they were added.
func (s *Slice) listKeys(ctx context.Context, req *getRequest) ([]Key, error) {
	if err := s.ensureOwnKey(ctx, req.app); err != nil {
		return nil, err
	}
	var docs []docstore.Doc[model.AppKey]
	err := model.Each(ctx, s.Store.Reader(), s.AppKeys, docstore.Eq(model.AppKeyByApp, req.AppID), func(doc docstore.Doc[model.AppKey]) error {
		docs = append(docs, doc)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(docs, func(doc docstore.Doc[model.AppKey]) bool {
		return doc.Value.Key.ID == req.app.Value.Credentials.OwnKID
	}); i > 0 {
		own := docs[i]
		docs = slices.Insert(slices.Delete(docs, i, i+1), 0, own)
	}
	keys := make([]Key, len(docs))
	for i, doc := range docs {
		if keys[i], err = renderKey(doc); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// requireSigning returns an error if the sign-on mode of an application has no signatures, and hence no keys.
func requireSigning(app docstore.Doc[model.App]) error {
	if app.Value.SignOnMode.Traits().Signing {
		return nil
	}
	return rest.Fail(rest.CodeAppOperation,
		"signOnMode: Applications with the sign-on mode "+string(app.Value.SignOnMode)+" have no signing keys")
}

type generateRequest struct {
	getRequest
	Years int `query:"validityYears" required:"true" min:"2" max:"10" doc:"Validity of the certificate in years."`
}

func (s *Slice) generateKey(ctx context.Context, req *generateRequest) (Key, error) {
	if err := requireSigning(req.app); err != nil {
		return Key{}, err
	}
	now := s.Now()
	key, err := signkey.New(s.Secrets,
		signkey.Options{Name: s.Subdomain, Now: now, Validity: now.AddDate(req.Years, 0, 0).Sub(now), Source: s.KeySource})
	if err != nil {
		return Key{}, err
	}
	return s.addKey(ctx, req.AppID, key)
}

// addKey adds a key to an application.
func (s *Slice) addKey(ctx context.Context, app string, key signkey.Key) (out Key, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		to, err := s.find(ctx, tx, app)
		if err != nil {
			return err
		}
		id := model.AppKeyID(app, key.ID)
		found, err := model.Optional(ctx, tx, s.AppKeys, id)
		if err != nil {
			return err
		}
		if found != nil || to.Value.Credentials.OwnKID == key.ID {
			return rest.Invalid("targetAid", "The application already has the key")
		}
		doc, err := s.AppKeys.Insert(ctx, tx, id, model.AppKey{AppID: app, Key: key})
		if err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.AppUpdate, to); err != nil {
			return err
		}
		out, err = renderKey(doc)
		return err
	})
	return out, err
}

type keyRequest struct {
	getRequest
	KID string `path:"kid" doc:"Id of the key."`

	key docstore.Doc[model.AppKey]
}

func (r *keyRequest) self() *keyRequest { return r }

func (s *Slice) findKey(ctx context.Context, q docstore.Reader, req *keyRequest) (err error) {
	if req.app, err = s.find(ctx, q, req.AppID); err != nil {
		return err
	}
	req.key, err = s.key(ctx, q, req.app, req.KID)
	return err
}

func (s *Slice) getKey(_ context.Context, req *keyRequest) (Key, error) { return renderKey(req.key) }

type cloneRequest struct {
	keyRequest
	Target string `query:"targetAid" required:"true" doc:"Id of the application that also gets the key."`
}

func (s *Slice) cloneKey(ctx context.Context, req *cloneRequest) (Key, error) {
	target, err := s.find(ctx, s.Store.Reader(), req.Target)
	if err != nil {
		return Key{}, err
	}
	changes, err := authz.ChangesApp(ctx, s.Store.Reader(), s.Deps, target)
	if err == nil && !changes {
		err = rest.Fail(rest.CodeForbidden)
	}
	if err != nil {
		return Key{}, err
	}
	if err := requireSigning(target); err != nil {
		return Key{}, err
	}
	return s.addKey(ctx, req.Target, req.key.Value.Key)
}
