package connections

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// The states of a connection in the API.
const (
	enabled  = "ENABLED"
	disabled = "DISABLED"
	unknown  = "UNKNOWN"

	// The kinds of credentials.
	tokenScheme = "TOKEN"
	oauthScheme = "OAUTH2"
)

// Connection is a provisioning connection in the API. It never contains the token.
type Connection struct {
	AuthScheme string `json:"authScheme" readOnly:"true" enum:"TOKEN,OAUTH2,UNKNOWN" doc:"Kind of credentials. UNKNOWN: not supported."`

	Status string `json:"status" readOnly:"true" enum:"ENABLED,DISABLED,UNKNOWN" doc:"Status. UNKNOWN: connections are not supported."`

	BaseURL string            `json:"baseUrl,omitempty" doc:"Base URL of the SCIM endpoints."`
	Profile ConnectionProfile `json:"profile" doc:"Credentials and options."`
	Links   rest.Links        `json:"_links,omitempty" readOnly:"true" doc:"Links."`
}

// ConnectionProfile holds the credentials of a connection and the options of its SCIM requests.
type ConnectionProfile struct {
	AuthScheme   string `json:"authScheme,omitempty" empty:"absent"`
	Token        string `json:"token,omitempty" empty:"absent" writeOnly:"true" max:"8192"`
	ClientID     string `json:"clientId,omitempty" empty:"absent" max:"1024" doc:"Id of the client, for OAUTH2."`
	ClientSecret string `json:"clientSecret,omitempty" empty:"absent" writeOnly:"true" max:"8192"`
	TokenURL     string `json:"tokenUrl,omitempty" empty:"absent" max:"2048"`

	Scope string `json:"scope,omitempty" empty:"absent" max:"2048" doc:"Requested scopes, separated by spaces, for OAUTH2."`

	HeaderFormat      model.HeaderFormat `json:"headerFormat,omitempty" empty:"absent"`
	UserNameAttribute string             `json:"userNameAttribute,omitempty" empty:"absent" max:"255"`
	UpdateStyle       model.UpdateStyle  `json:"updateStyle,omitempty" empty:"absent"`
	Fallback          model.Fallback     `json:"fallback,omitempty" empty:"absent"`
}

// MoreTags implements rest.Described.
func (ConnectionProfile) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"authScheme": `doc:"Kind of credentials: TOKEN, or OAUTH2 for access tokens by the client credentials grant. Default: the stored ` +
			`kind, or TOKEN."`,
		"token": `doc:"The secret, for TOKEN. If omitted, the stored secret remains. A baseUrl with another scheme, host or port needs it ` +
			`again."`,
		"clientSecret": `doc:"Secret of the client, for OAUTH2. If omitted, the stored secret remains. A baseUrl or tokenUrl with another ` +
			`scheme, host or port needs it again."`,
		"tokenUrl": `doc:"Address of the token endpoint, for OAUTH2: absolute, http or https, without user and fragment."`,
		"headerFormat": `enum:"BEARER,RAW,BASIC" doc:"How the token is sent in the Authorization header: after Bearer, as it is, or as ` +
			`user:password in Base64. Default: BEARER."`,
		"userNameAttribute": `doc:"Attribute by which the engine searches for users on the target. Default: userName."`,
		"updateStyle": `enum:"CATALOG,WIZARD,AUTO" doc:"Which SCIM requests update users and groups. CATALOG: PATCH for activation, ` +
			`deactivation, password and group membership, PUT for other updates. WIZARD: PUT for all. AUTO: WIZARD if the target's ` +
			`ServiceProviderConfig reports no PATCH, otherwise CATALOG. Default: WIZARD for a custom integration, CATALOG for others."`,
		"fallback": `enum:"LEARN,NONE" doc:"Whether another form of a SCIM request may be tried after a rejection or a success without ` +
			`effect. LEARN: yes, and the form that works is used from then on. NONE: never. Default: NONE."`,
	}
}

const defaultUserNameAttribute = "userName"

func renderConnection(ctx context.Context, app docstore.Doc[model.App], c model.Connection) Connection {
	if !app.Value.SignOnMode.Traits().Provisioning {
		return Connection{AuthScheme: unknown, Status: unknown, Profile: ConnectionProfile{AuthScheme: unknown}}
	}
	url := func(more ...string) string {
		return rest.URL(ctx, append([]string{"api", "v1", "apps", app.ID, "connections", "default"}, more...)...)
	}
	out := Connection{
		AuthScheme: tokenScheme, Status: disabled, BaseURL: c.BaseURL,
		Profile: ConnectionProfile{AuthScheme: tokenScheme},
		Links:   rest.Links{"self": rest.To(url(), "POST", "GET")},
	}
	if o := c.OAuth; o != nil {
		out.AuthScheme = oauthScheme
		out.Profile = ConnectionProfile{AuthScheme: oauthScheme, ClientID: o.ClientID, TokenURL: o.TokenURL, Scope: o.Scope}
	}
	if c.HeaderFormat != model.HeaderBearer {
		out.Profile.HeaderFormat = c.HeaderFormat
	}
	if c.UserNameAttribute != defaultUserNameAttribute {
		out.Profile.UserNameAttribute = c.UserNameAttribute
	}
	if c.BaseURL != "" {
		out.Profile.UpdateStyle, out.Profile.Fallback = c.Style(&app.Value), c.FallsBack()
	}
	if c.Enabled {
		out.Status = enabled
		out.Links["deactivate"] = rest.To(url("lifecycle", "deactivate"), "POST")
	} else {
		out.Links["activate"] = rest.To(url("lifecycle", "activate"), "POST")
	}
	return out
}

func (s *Slice) getConnection(ctx context.Context, req *appRequest) (Connection, error) {
	conn, err := s.connection(ctx, s.Store.Reader(), req.AppID)
	if err != nil {
		return Connection{}, err
	}
	return renderConnection(ctx, req.app, conn.Value), nil
}

type connectionBody struct {
	BaseURL string            `json:"baseUrl" empty:"absent" max:"2048"`
	Profile ConnectionProfile `json:"profile" doc:"Credentials and options."`
}

// MoreTags implements rest.Described.
func (connectionBody) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"baseUrl": `doc:"Address of the parent of the SCIM endpoints: absolute, http or https, without user, query and fragment. If ` +
			`omitted, the stored one remains."`,
	}
}

type connectionRequest struct {
	appRequest
	Activate bool           `query:"activate" default:"false" doc:"Whether to verify and activate the connection."`
	Body     connectionBody `body:"required"`
}

// checkConnection validates the members that were sent. Required members depend on the stored connection, see configured.
func checkConnection(_ context.Context, r *connectionRequest, causes *rest.Causes) error {
	if r.Body.BaseURL != "" {
		if problem := urlProblem(r.Body.BaseURL, false); problem != "" {
			causes.Add("baseUrl", "%s", problem)
		}
	}
	p := r.Body.Profile
	if p.AuthScheme != "" && p.AuthScheme != tokenScheme && p.AuthScheme != oauthScheme {
		causes.Add("profile.authScheme", "The value must be %s or %s", tokenScheme, oauthScheme)
	}
	for _, secret := range []struct{ name, value string }{{"token", p.Token}, {"clientId", p.ClientID}, {"clientSecret", p.ClientSecret},
		{"scope", p.Scope}} {
		if strings.ContainsFunc(secret.value, unicode.IsControl) {
			causes.Add("profile."+secret.name, "The value contains a control character, which a header cannot carry")
		}
	}
	if p.TokenURL != "" {
		if problem := urlProblem(p.TokenURL, true); problem != "" {
			causes.Add("profile.tokenUrl", "%s", problem)
		}
	}
	if p.UserNameAttribute != "" {
		if _, err := scim.ParseAttrPath(p.UserNameAttribute); err != nil {
			causes.Add("profile.userNameAttribute", "The value must be the name of a SCIM attribute")
		}
	}
	return nil
}

// urlProblem returns why a string cannot be the base URL of SCIM endpoints, or the URL of a token endpoint if query is true, which may have
// a query. It returns "" for a valid URL.
func urlProblem(text string, query bool) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "The value is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "The value must be an absolute URL with the scheme http or https"
	case u.Opaque != "" || u.Hostname() == "":
		return "The URL must name a host"
	case u.User != nil:
		return "The URL must not contain credentials; give them in profile"
	case !query && (u.RawQuery != "" || u.ForceQuery):
		return "The URL must not have a query"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "The URL must not have a fragment"
	}
	return ""
}

// setConnection configures the connection. Omitted members keep their values. If the request activates the connection and its verification
// fails, nothing is stored.
func (s *Slice) setConnection(ctx context.Context, req *connectionRequest) (Connection, error) {
	if !req.app.Value.SignOnMode.Traits().Provisioning {
		return Connection{}, unsupported(req.app.Value)
	}
	for {
		old, err := s.connection(ctx, s.Store.Reader(), req.AppID)
		if err != nil {
			return Connection{}, err
		}
		next, err := s.configured(req, old.Value)
		if err != nil {
			return Connection{}, err
		}
		if req.Activate {
			if err := s.verify(ctx, req.app, next); err != nil {
				return Connection{}, err
			}
			next.Enabled, next.Ended = true, false
		}
		stored, err := s.putConnection(ctx, req.AppID, old.Rev, func(c *model.Connection) {
			features := *c
			*c = next
			c.UserProvisioning, c.GroupPush, c.Import = features.UserProvisioning, features.GroupPush, features.Import
		})
		if err != nil {
			return Connection{}, err
		}
		if stored != nil {
			return renderConnection(ctx, req.app, *stored), nil
		}
	}
}

// configured applies the members that were sent to the stored connection.
func (s *Slice) configured(req *connectionRequest, c model.Connection) (model.Connection, error) {
	p, old := req.Body.Profile, c
	var causes rest.Causes
	if c.BaseURL = cmp.Or(strings.TrimRight(req.Body.BaseURL, "/"), c.BaseURL); c.BaseURL == "" {
		causes.Blank("baseUrl")
	}
	secret, member := p.Token, "token"
	if p.AuthScheme == oauthScheme || p.AuthScheme == "" && c.OAuth != nil {
		secret, member = p.ClientSecret, "clientSecret"
		p.configureOAuth(&c, &causes)
	} else {
		p.configureToken(&c, &causes)
	}
	if secret == "" {
		if c.SealedToken == "" {
			causes.Blank("profile." + member)
		} else if moved := changedOrigin(old, c); moved != "" {
			causes.Add("profile."+member, "The value must be given again, because %s names another scheme, host or port", moved)
		}
	}
	c.UserNameAttribute = cmp.Or(p.UserNameAttribute, c.UserNameAttribute, defaultUserNameAttribute)
	c.UpdateStyle, c.Fallback = cmp.Or(p.UpdateStyle, c.UpdateStyle), cmp.Or(p.Fallback, c.Fallback)
	if c.HeaderFormat == model.HeaderBasic && p.Token != "" && !strings.Contains(p.Token, ":") {
		causes.Add("profile.token", "The token for %s must have the form user:password", model.HeaderBasic)
	}
	if err := causes.Err(); err != nil {
		return c, err
	}
	if secret == "" {
		return c, nil
	}
	sealed, err := s.Secrets.Seal(secret, model.ConnectionBinding(req.AppID))
	c.SealedToken = sealed
	return c, err
}

// changedOrigin returns the member that moves the recipient of a connection's secret, or of its access tokens, to another scheme, host or
// port. It returns "" if the recipient stays the same. If it returns a member, the client must send the secret again: otherwise, a client
// that does not have the secret could redirect it to its own server.
func changedOrigin(old, c model.Connection) string {
	switch {
	case old.BaseURL != "" && !model.SameOrigin(old.BaseURL, c.BaseURL):
		return "baseUrl"
	case old.OAuth != nil && c.OAuth != nil && !model.SameOrigin(old.OAuth.TokenURL, c.OAuth.TokenURL):
		return "profile.tokenUrl"
	}
	return ""
}

// configureToken configures a connection with a token.
func (p *ConnectionProfile) configureToken(c *model.Connection, causes *rest.Causes) {
	if c.OAuth != nil {
		c.OAuth, c.SealedToken = nil, "" // removes the client secret, which cannot be used as a token
	}
	rejectMembers(causes, oauthScheme,
		map[string]string{"clientId": p.ClientID, "clientSecret": p.ClientSecret, "tokenUrl": p.TokenURL, "scope": p.Scope})
	c.HeaderFormat = cmp.Or(p.HeaderFormat, c.HeaderFormat, model.HeaderBearer)
}

// configureOAuth configures a connection that requests access tokens.
func (p *ConnectionProfile) configureOAuth(c *model.Connection, causes *rest.Causes) {
	var o model.ConnectionOAuth
	if c.OAuth != nil {
		o = *c.OAuth
	} else {
		c.SealedToken = "" // removes the token, which cannot be used as a client secret
	}
	o = model.ConnectionOAuth{ClientID: cmp.Or(p.ClientID, o.ClientID), TokenURL: cmp.Or(p.TokenURL, o.TokenURL),
		Scope: cmp.Or(p.Scope, o.Scope)}
	if o.ClientID == "" {
		causes.Blank("profile.clientId")
	}
	if o.TokenURL == "" {
		causes.Blank("profile.tokenUrl")
	}
	other := map[string]string{"token": p.Token}
	if p.HeaderFormat != model.HeaderBearer {
		other["headerFormat"] = string(p.HeaderFormat)
	}
	rejectMembers(causes, tokenScheme, other)
	c.OAuth, c.HeaderFormat = &o, model.HeaderBearer
}

// rejectMembers records an error for each member that was sent and belongs to the other kind of credentials, named by scheme.
func rejectMembers(causes *rest.Causes, scheme string, members map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name] != "" {
			causes.Add("profile."+name, "The member belongs to the authScheme %s", scheme)
		}
	}
}

// verify calls the ConnectionTester. It runs outside of a transaction; putConnection detects concurrent changes of the connection.
func (s *Slice) verify(ctx context.Context, app docstore.Doc[model.App], c model.Connection) error {
	token, err := s.Secrets.Open(c.SealedToken, model.ConnectionBinding(app.ID))
	if err != nil {
		return err
	}
	tested := audit.Entry{Type: audit.ConnectionTest, Targets: []model.LogParty{audit.App(app.ID, &app.Value)}}
	if err := s.Tester.TestConnection(ctx,
		Endpoint{App: app.ID, BaseURL: c.BaseURL, Header: c.HeaderFormat, Token: token, OAuth: c.OAuth}); err != nil {
		tested.Failure = wirelog.NewRedactor(token).Text(err.Error())
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error { return audit.Write(ctx, tx, s.Deps, tested) })
	if err == nil && tested.Failure != "" {
		err = rest.Fail(rest.CodeConnection, "connection: "+tested.Failure)
	}
	return err
}

// putConnection changes the connection if its revision is still `rev` (0: no connection), and returns the stored connection. It returns nil
// if another request has changed the connection.
func (s *Slice) putConnection(ctx context.Context, app string, rev int64, change func(*model.Connection)) (*model.Connection, error) {
	var stored *model.Connection
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		stored = nil
		owner, err := s.findApp(ctx, tx, app)
		if err != nil {
			return err
		}
		doc, err := s.connection(ctx, tx, app)
		if err != nil || doc.Rev != rev {
			return err
		}
		pushed, before := doc.Value.PushesGroups(), doc.Value.BaseURL
		change(&doc.Value)
		if !model.SameOrigin(before, doc.Value.BaseURL) { // the pending passwords are for the previous target, so they are dropped
			if err := s.dropPasswords(ctx, tx, app); err != nil {
				return err
			}
		}
		if rev == 0 {
			doc, err = s.Connections.Insert(ctx, tx, app, doc.Value)
		} else {
			doc, err = s.Connections.Update(ctx, tx, app, rev, doc.Value)
		}
		if err != nil {
			return err
		}
		stored = &doc.Value
		if err := s.logConnection(ctx, tx, owner); err != nil {
			return err
		}
		return s.changed(ctx, tx, app, pushed, stored)
	})
	return stored, err
}

// activate verifies the connection and enables it. It also verifies a connection that is enabled already.
func (s *Slice) activate(ctx context.Context, req *appRequest) (rest.NoContent, error) {
	if !req.app.Value.SignOnMode.Traits().Provisioning {
		return rest.NoContent{}, unsupported(req.app.Value)
	}
	for {
		conn, err := s.connection(ctx, s.Store.Reader(), req.AppID)
		if err != nil {
			return rest.NoContent{}, err
		}
		if conn.Value.SealedToken == "" {
			return rest.NoContent{}, rest.Invalid("connection", "The connection has no credentials; configure it first")
		}
		if err := s.verify(ctx, req.app, conn.Value); err != nil {
			return rest.NoContent{}, err
		}
		stored, err := s.putConnection(ctx, req.AppID, conn.Rev, func(c *model.Connection) { c.Enabled, c.Ended = true, false })
		if err != nil || stored != nil {
			return rest.NoContent{}, err
		}
	}
}

// changed emits the event of a changed connection. If group push was just enabled, it pushes all groups in full.
func (s *Slice) changed(ctx context.Context, tx *docstore.Tx, app string, pushed bool, now *model.Connection) error {
	if err := s.Feed.Emit(ctx, tx, model.AppChanged{App: app}); err != nil || pushed || !now.PushesGroups() {
		return err
	}
	return s.pushAll(ctx, tx, app)
}

// deactivate stops the connection and drops the pending changes for the target except deactivations: without these, a user who has lost an
// assignment would keep the account after the connection is enabled again. It does nothing for a connection that is not enabled.
func (s *Slice) deactivate(ctx context.Context, req *appRequest) (rest.NoContent, error) {
	if !req.app.Value.SignOnMode.Traits().Provisioning {
		return rest.NoContent{}, unsupported(req.app.Value)
	}
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		conn, err := s.connection(ctx, tx, req.AppID)
		if err != nil || !conn.Value.Enabled {
			return err
		}
		conn.Value.Enabled, conn.Value.Ended = false, true
		if err := s.dropPasswords(ctx, tx, req.AppID); err != nil {
			return err
		}
		if _, err := s.Connections.Update(ctx, tx, req.AppID, conn.Rev, conn.Value); err != nil {
			return err
		}
		if err := s.logConnection(ctx, tx, req.app); err != nil {
			return err
		}
		if err := s.Feed.Emit(ctx, tx, model.AppChanged{App: req.AppID, Ended: true}); err != nil {
			return err
		}
		return model.Each(ctx, tx, s.AppUsers, docstore.Eq(model.AppUserByPending, req.AppID), func(doc docstore.Doc[model.AppUser]) error {
			return s.Feed.Emit(ctx, tx, model.AppUserChanged{App: req.AppID, User: doc.Value.UserID, Provision: true})
		})
	})
	return rest.NoContent{}, err
}

// logConnection logs that the provisioning of an application was changed.
func (s *Slice) logConnection(ctx context.Context, tx *docstore.Tx, app docstore.Doc[model.App]) error {
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.ConnectionUpdate, Targets: []model.LogParty{audit.App(app.ID, &app.Value)}})
}

// unsupported returns the error for an application that cannot have a connection.
func unsupported(app model.App) error {
	return rest.Fail(rest.CodeAppOperation,
		"signOnMode: Applications with the sign-on mode "+string(app.SignOnMode)+" cannot have a provisioning connection")
}
