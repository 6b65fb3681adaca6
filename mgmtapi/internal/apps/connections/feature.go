package connections

import (
	"context"
	"reflect"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Feature is a provisioning feature in the API.
type Feature struct {
	Name         string       `json:"name" readOnly:"true" enum:"USER_PROVISIONING,INBOUND_PROVISIONING,GROUP_PUSH" doc:"Name."`
	Status       string       `json:"status" readOnly:"true" enum:"ENABLED,DISABLED" doc:"ENABLED while the connection is enabled."`
	Description  string       `json:"description" readOnly:"true" doc:"What the feature does."`
	Capabilities Capabilities `json:"capabilities" doc:"Capabilities of the feature."`
	Links        rest.Links   `json:"_links" readOnly:"true" doc:"Links."`
}

// Capabilities are the parts of a feature; each feature has its own. An update changes only the members that are sent.
type Capabilities struct {
	Create *CreateCapability `json:"create,omitempty" doc:"Creation of users (USER_PROVISIONING)."`
	Update *UpdateCapability `json:"update,omitempty" doc:"Update of users (USER_PROVISIONING)."`
	Push   *Switch           `json:"push,omitempty" doc:"Push of groups (GROUP_PUSH)."`

	ImportSettings *ImportSettings `json:"importSettings,omitempty" doc:"Logins of imported users, and schedule (INBOUND_PROVISIONING)."`
	ImportRules    *ImportRules    `json:"importRules,omitempty" doc:"Matching of accounts, and consent (INBOUND_PROVISIONING)."`
}

// CreateCapability configures the creation of users.
type CreateCapability struct {
	LifecycleCreate *Switch `json:"lifecycleCreate,omitempty" doc:"Creates or links assigned users on the target."`
}

// UpdateCapability configures the update of users.
type UpdateCapability struct {
	Profile *Switch `json:"profile,omitempty" doc:"Sends changed profiles to the target."`

	LifecycleDeactivate *Switch `json:"lifecycleDeactivate,omitempty" doc:"Deactivates the accounts of deactivated and of unassigned users."`

	Password *PasswordSwitch `json:"password,omitempty" doc:"Sends passwords to the target."`
}

// Switch enables or disables a capability.
type Switch struct {
	Status string `json:"status" empty:"absent" enum:"ENABLED,DISABLED" doc:"Whether the capability is enabled."`
}

// PasswordSwitch enables or disables the sending of passwords. A password is available only when it is set or entered at a sign-in: an
// account that is created at another time receives a random password first.
type PasswordSwitch struct {
	Status string `json:"status" empty:"absent" enum:"ENABLED,DISABLED" doc:"Whether the capability is enabled."`

	Seed model.PasswordSeed `json:"seed,omitempty" empty:"absent" enum:"RANDOM,SVC" doc:"Which password is sent: the user's or a random one."`

	Change model.PasswordChange `json:"change,omitempty" empty:"absent"`
}

// MoreTags implements rest.Described.
func (PasswordSwitch) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"change": `enum:"KEEP_EXISTING,CHANGE" doc:"Whether a change of a user's password also changes the password of existing accounts. ` +
			`With KEEP_EXISTING, only new accounts get a password."`,
	}
}

// feature describes a provisioning feature.
type feature struct {
	name, description string
	// show returns the capabilities of a connection.
	show func(c *model.Connection) Capabilities
	// set stores in a connection the capabilities that the client sent.
	set func(c *model.Connection, sent Capabilities)
}

var features = []feature{
	{
		name:        "USER_PROVISIONING",
		description: "Creates, updates and deactivates users on the target",
		show: func(c *model.Connection) Capabilities {
			u := c.UserProvisioning
			return Capabilities{
				Create: &CreateCapability{LifecycleCreate: &Switch{onOff(u.Create)}},
				Update: &UpdateCapability{
					Profile:             &Switch{onOff(u.Update)},
					LifecycleDeactivate: &Switch{onOff(u.Deactivate)},
					Password: &PasswordSwitch{
						Status: onOff(u.Password),
						Seed:   orDefault(u.Seed, model.SeedRandom), Change: orDefault(u.Change, model.KeepExisting),
					},
				},
			}
		},
		set: func(c *model.Connection, sent Capabilities) {
			u := &c.UserProvisioning
			if sent.Create != nil {
				sent.Create.LifecycleCreate.set(&u.Create)
			}
			if sent.Update == nil {
				return
			}
			sent.Update.Profile.set(&u.Update)
			sent.Update.LifecycleDeactivate.set(&u.Deactivate)
			if p := sent.Update.Password; p != nil {
				p.asSwitch().set(&u.Password)
				u.Seed, u.Change = orDefault(p.Seed, u.Seed), orDefault(p.Change, u.Change)
			}
		},
	},
	{
		name:        inbound,
		description: "Creates and updates users from the accounts of the target",
		show:        showImport, set: setImport,
	},
	{
		name:        "GROUP_PUSH",
		description: "Pushes groups and their memberships to the target",
		show: func(c *model.Connection) Capabilities {
			return Capabilities{Push: &Switch{onOff(!c.GroupPush.Off)}}
		},
		set: func(c *model.Connection, sent Capabilities) {
			on := !c.GroupPush.Off
			sent.Push.set(&on)
			c.GroupPush.Off = !on
		},
	},
}

func onOff(on bool) string {
	if on {
		return enabled
	}
	return disabled
}

func orDefault[T ~string](value, fallback T) T {
	if value == "" {
		return fallback
	}
	return value
}

// set stores the switch in an option, if it was sent.
func (s *Switch) set(option *bool) {
	if s != nil && s.Status != "" {
		*option = s.Status == enabled
	}
}

// asSwitch returns the status as a Switch.
func (s *PasswordSwitch) asSwitch() *Switch { return &Switch{s.Status} }

func named(name string) (feature, bool) {
	for _, f := range features {
		if f.name == name {
			return f, true
		}
	}
	return feature{}, false
}

// render returns the feature as the API shows it for a connection.
func (f feature) render(ctx context.Context, app string, c *model.Connection) Feature {
	return Feature{
		Name: f.name, Status: onOff(c.Enabled), Description: f.description, Capabilities: f.show(c),
		Links: rest.Links{"self": rest.To(rest.URL(ctx, "api", "v1", "apps", app, "features", f.name), "GET", "PUT")},
	}
}

// shownConnection reads the connection for reads of features: one that is, or was, enabled.
func (s *Slice) shownConnection(ctx context.Context, app string) (docstore.Doc[model.Connection], error) {
	conn, err := s.connection(ctx, s.Store.Reader(), app)
	if err == nil && !conn.Value.Enabled && !conn.Value.Ended {
		err = notEnabled()
	}
	return conn, err
}

func notEnabled() error {
	return rest.Invalid("feature", model.ConnectionOff)
}

// enabledConnection reads the connection for changes of features: one that is enabled.
func (s *Slice) enabledConnection(ctx context.Context, q docstore.Reader, app string) (docstore.Doc[model.Connection], error) {
	conn, err := s.connection(ctx, q, app)
	if err == nil && !conn.Value.Enabled {
		err = notEnabled()
	}
	return conn, err
}

func (s *Slice) listFeatures(ctx context.Context, req *appRequest) ([]Feature, error) {
	conn, err := s.shownConnection(ctx, req.AppID)
	if err != nil {
		return nil, err
	}
	out := make([]Feature, len(features))
	for i, f := range features {
		out[i] = f.render(ctx, req.AppID, &conn.Value)
	}
	return out, nil
}

type featureRequest struct {
	appRequest
	Name string `path:"featureName" doc:"Name of the feature."`

	feature feature
}

func (s *Slice) findForFeature(ctx context.Context, req *featureRequest) (err error) {
	if req.app, err = s.findApp(ctx, s.Store.Reader(), req.AppID); err != nil {
		return err
	}
	var ok bool
	if req.feature, ok = named(req.Name); !ok {
		return rest.NotFound("Feature", req.Name)
	}
	return nil
}

func (s *Slice) getFeature(ctx context.Context, req *featureRequest) (Feature, error) {
	conn, err := s.shownConnection(ctx, req.AppID)
	if err != nil {
		return Feature{}, err
	}
	return req.feature.render(ctx, req.AppID, &conn.Value), nil
}

type featureUpdate struct {
	featureRequest
	Body Capabilities `body:"required"`

	imports model.ImportSettings // as stored
	source  map[string]expression.Kind
}

func (s *Slice) findForFeatureUpdate(ctx context.Context, req *featureUpdate) error {
	if err := s.findForFeature(ctx, &req.featureRequest); err != nil {
		return err
	}
	q := s.Store.Reader()
	conn, err := s.connection(ctx, q, req.AppID)
	if err != nil {
		return err
	}
	req.imports = conn.Value.ImportSettings()
	schema, err := s.AppSchema(ctx, q, req.AppID)
	if err != nil {
		return err
	}
	req.source = schema.Kinds(true)
	return nil
}

// checkFeatureUpdate validates the settings of imports.
func checkFeatureUpdate(_ context.Context, req *featureUpdate, causes *rest.Causes) error {
	if req.feature.name == inbound {
		req.Body.checkImport(req.imports, req.source, causes)
	}
	return nil
}

func (s *Slice) updateFeature(ctx context.Context, req *featureUpdate) (Feature, error) {
	var out Feature
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		conn, err := s.enabledConnection(ctx, tx, req.AppID)
		if err != nil {
			return err
		}
		pushed, schedule := conn.Value.PushesGroups(), conn.Value.ImportSettings().Schedule
		req.feature.set(&conn.Value, req.Body)
		out = req.feature.render(ctx, req.AppID, &conn.Value)
		if _, err := s.Connections.Update(ctx, tx, req.AppID, conn.Rev, conn.Value); err != nil {
			return err
		}
		if err := s.reschedule(ctx, tx, req.AppID, schedule, conn.Value.ImportSettings().Schedule); err != nil {
			return err
		}
		if !conn.Value.SyncsPasswords() {
			if err := s.dropPasswords(ctx, tx, req.AppID); err != nil {
				return err
			}
		}
		if err := s.logConnection(ctx, tx, req.app); err != nil {
			return err
		}
		return s.changed(ctx, tx, req.AppID, pushed, &conn.Value)
	})
	return out, err
}
