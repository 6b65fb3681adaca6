package hardwaretokens

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Options configure the slice.
type Options struct {
	// Secrets encrypts the seeds.
	Secrets seal.Secrets
	// User returns a user as the caller may see it, nil if the caller may not see it.
	User func(ctx context.Context, q docstore.Reader, id string) (any, error)
}

// Slice serves the hardware tokens.
type Slice struct {
	model.Deps
	o Options
}

// New returns the slice. Its event handler updates the email address that is stored with the tokens of a user, which filters use.
func New(d model.Deps, o Options) *Slice {
	s := &Slice{Deps: d, o: o}
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.UserChanged) error {
		if e.New { // a new user has no token
			return nil
		}
		return s.updateUserEmail(ctx, tx, e.ID)
	})
	return s
}

const (
	tag  = "Hardware tokens"
	root = "/api/v1/org/factors/hardware_token/tokens"
	one  = root + "/{tokenId}"
	kind = "HardwareToken"
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.users.read"}, []string{"svc.users.manage"}
	return []rest.Route{
		rest.Op[createRequest, HardwareToken]{
			ID: "uploadYubikeyOtpTokenSeed", Route: "POST " + root, Tag: tag, Scopes: write,
			Summary: "Adds a hardware token", Check: checkCreate, Do: s.create,
		},
		rest.Op[listRequest, rest.Listing[HardwareToken]]{
			ID: "listYubikeyOtpTokens", Route: "GET " + root, Tag: tag, Scopes: read,
			Summary: "Lists the hardware tokens, as JSON or CSV", Do: s.list,
		},
		rest.Op[getRequest, HardwareToken]{
			ID: "getYubikeyOtpTokenById", Route: "GET " + one, Tag: tag, Scopes: read,
			Summary: "Reads a hardware token", Find: lookup.In(s.Store, s.find, (*getRequest).self), Do: s.get,
		},
		rest.Op[target, rest.NoContent]{
			ID: "deleteYubikeyOtpToken", Route: "DELETE " + one, Tag: tag, Scopes: write,
			Summary: "Deletes a hardware token that is not assigned to a user", Find: lookup.In(s.Store, s.find, (*target).self), Do: s.delete,
		},
	}
}

// HardwareToken is a hardware token in JSON.
type HardwareToken struct {
	ID           string     `json:"id" readOnly:"true" doc:"Id of the token."`
	Status       string     `json:"status" readOnly:"true" enum:"UNASSIGNED,ACTIVE" doc:"ACTIVE if the token is assigned to a user."`
	Created      rest.Time  `json:"created" readOnly:"true" doc:"Time at which the token was added."`
	LastUpdated  rest.Time  `json:"lastUpdated" readOnly:"true" doc:"Time of the last change."`
	Activated    *rest.Time `json:"activated,omitempty" readOnly:"true" doc:"Time at which the user enrolled with the token."`
	LastVerified *rest.Time `json:"lastVerified,omitempty" readOnly:"true" doc:"Time of the last accepted one-time password, from any user."`
	Profile      Profile    `json:"profile" readOnly:"true" doc:"Data printed on the token."`
	Links        rest.Links `json:"_links" readOnly:"true" doc:"Links to the token, its user and its factor."`
	Embedded     *Embedded  `json:"_embedded,omitempty" readOnly:"true" doc:"The user, with expand=user."`
}

// Profile is the data printed on a hardware token.
type Profile struct {
	Serial string `json:"serial" readOnly:"true" doc:"Serial number, twelve digits."`
}

// Embedded holds the resources embedded in a hardware token.
type Embedded struct {
	User any `json:"user" readOnly:"true" doc:"The user."`
}

func (s *Slice) render(ctx context.Context, doc docstore.Doc[model.HardwareToken]) HardwareToken {
	h := &doc.Value
	self := rest.URL(ctx, "api", "v1", "org", "factors", "hardware_token", "tokens", doc.ID)
	out := HardwareToken{
		ID: doc.ID, Status: string(h.Status()), Created: rest.TimeOf(h.Made), LastUpdated: rest.TimeOf(doc.Updated),
		Activated: rest.TimePtr(h.Activated), LastVerified: rest.TimePtr(h.LastVerified), Profile: Profile{Serial: h.Serial},
	}
	if h.User == "" {
		out.Links = rest.Links{"self": rest.To(self, "GET", "DELETE")}
		return out
	}
	user := []string{"api", "v1", "users", h.User}
	out.Links = rest.Links{
		"self": rest.To(self, "GET"), "user": rest.To(rest.URL(ctx, user...), "GET"),
		"deactivate": rest.To(rest.URL(ctx, append(user, "factors", h.Factor)...), "DELETE"),
	}
	return out
}

// expanded renders a token, with its user if that is requested and the caller may see it.
func (s *Slice) expanded(ctx context.Context, q docstore.Reader, doc docstore.Doc[model.HardwareToken], expand string) (HardwareToken,
	error) {
	out := s.render(ctx, doc)
	if expand == "" || doc.Value.User == "" {
		return out, nil
	}
	user, err := s.o.User(ctx, q, doc.Value.User)
	if err == nil && user != nil {
		out.Embedded = &Embedded{User: user}
	}
	return out, err
}

// target is the hardware token in a path.
type target struct {
	ID string `path:"tokenId" doc:"Id of the token."`

	found docstore.Doc[model.HardwareToken]
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	t.found, err = s.HardwareTokens.Get(ctx, q, t.ID)
	return rest.Missing(err, kind, t.ID)
}

type getRequest struct {
	target
	Expand string `query:"expand" enum:"user" doc:"user embeds the user of the token."`
}

func (s *Slice) get(ctx context.Context, r *getRequest) (HardwareToken, error) {
	return s.expanded(ctx, s.Store.Reader(), r.found, r.Expand)
}

// updateUserEmail writes the email address of a user to the tokens of the user.
func (s *Slice) updateUserEmail(ctx context.Context, tx *docstore.Tx, user string) error {
	return model.Each(ctx, tx, s.HardwareTokens, docstore.Eq(model.HardwareTokenByUser, user),
		func(doc docstore.Doc[model.HardwareToken]) error {
			owner, err := s.Users.Get(ctx, tx, user)
			if err != nil {
				return err
			}
			if address := owner.Value.Text("email"); address != doc.Value.Email {
				doc.Value.Email = address
				_, err = s.HardwareTokens.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
			}
			return err
		})
}
