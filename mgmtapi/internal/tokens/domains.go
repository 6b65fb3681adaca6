package tokens

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Domains selects the issuer of a custom authorization server.
type Domains struct {
	// Custom is the base URL at the custom domain, one of rest.Bases. Default: none.
	Custom string
	// Dynamic enables Dynamic Issuer Mode: in this mode, the issuer is below the base URL to which the client sent its request.
	Dynamic bool
}

// Default returns the issuer mode of a new server.
func (d Domains) Default() model.IssuerMode {
	switch {
	case d.Dynamic:
		return model.IssuerDynamic
	case d.Custom != "":
		return model.IssuerCustom
	}
	return model.IssuerOrg
}

// Modes returns the issuer modes that a server can have.
func (d Domains) Modes() []model.IssuerMode {
	modes := []model.IssuerMode{model.IssuerOrg}
	if d.Custom != "" {
		modes = append(modes, model.IssuerCustom)
	}
	if d.Dynamic {
		modes = append(modes, model.IssuerDynamic)
	}
	return modes
}

// Shown reports whether responses of the API contain issuer modes: whether a server can have another mode than ORG.
func (d Domains) Shown() bool { return d.Custom != "" || d.Dynamic }

// Base returns the base URL of the issuer of a server, for the request of the context.
func (d Domains) Base(ctx context.Context, s *model.AuthServer) string {
	if d.Custom != "" && (s.IssuerMode == model.IssuerCustom || s.IssuerMode == model.IssuerDynamic && rest.SentTo(ctx) == d.Custom) {
		return d.Custom
	}
	return rest.URL(ctx)
}

// Issuer returns the issuer of a server, for the request of the context.
func (d Domains) Issuer(ctx context.Context, server docstore.Doc[model.AuthServer]) string {
	return IssuerAt(d.Base(ctx, &server.Value), server)
}

// IssuerAt returns the issuer of a server below a base URL.
func IssuerAt(base string, server docstore.Doc[model.AuthServer]) string {
	return base + "/oauth2/" + PathName(server)
}

// PathName returns the id of a server in its URL.
func PathName(server docstore.Doc[model.AuthServer]) string {
	if server.Value.Default {
		return model.DefaultServerName
	}
	return server.ID
}
