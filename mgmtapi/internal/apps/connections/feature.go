package connections

import (
	"context"
	"reflect"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Feature is a provisioning feature as callers see it.
type Feature struct {
	Name         string       `json:"name" readOnly:"true" enum:"USER_PROVISIONING,INBOUND_PROVISIONING,GROUP_PUSH" doc:"Name."`
	Status       string       `json:"status" readOnly:"true" enum:"ENABLED,DISABLED" doc:"ENABLED while the connection is."`
	Description  string       `json:"description" readOnly:"true" doc:"What the feature does."`
	Capabilities Capabilities `json:"capabilities" doc:"What of the feature is on."`
	Links        rest.Links   `json:"_links" readOnly:"true" doc:"Links."`
}

// Capabilities are the parts of a feature; each feature has its own. In an
// update, only what is sent changes.
type Capabilities struct {
	Create *CreateCapability `json:"create,omitempty" doc:"Creation of users (USER_PROVISIONING)."`
	Update *UpdateCapability `json:"update,omitempty" doc:"Update of users (USER_PROVISIONING)."`
	Push   *Switch           `json:"push,omitempty" doc:"Push of groups (GROUP_PUSH)."`

	ImportSettings *ImportSettings `json:"importSettings,omitempty" doc:"What is made of accounts, and when (INBOUND_PROVISIONING)."`
	ImportRules    *ImportRules    `json:"importRules,omitempty" doc:"Whose accounts are, and what needs no consent (INBOUND_PROVISIONING)."`
}

// CreateCapability is about the creation of users.
type CreateCapability struct {
	LifecycleCreate *Switch `json:"lifecycleCreate,omitempty" doc:"Assigned users are created or linked in the target."`
}

// UpdateCapability is about the update of users.
type UpdateCapability struct {
	Profile             *Switch         `json:"profile,omitempty" doc:"Changed profiles are sent to the target."`
	LifecycleDeactivate *Switch         `json:"lifecycleDeactivate,omitempty" doc:"Deactivates users who are deactivated or unassigned here."`
	Password            *PasswordSwitch `json:"password,omitempty" doc:"Passwords are sent to the target."`
}

// Switch turns a capability on or off.
type Switch struct {
	Status string `json:"status" empty:"absent" enum:"ENABLED,DISABLED" doc:"Whether it is on."`
}

// PasswordSwitch turns the sending of passwords on or off. A password is at hand only when it is set, or typed at a sign-in: an
// account that is made at another time begins with a random one.
type PasswordSwitch struct {
	Status string `json:"status" empty:"absent" enum:"ENABLED,DISABLED" doc:"Whether it is on."`

	Seed model.PasswordSeed `json:"seed,omitempty" empty:"absent" enum:"RANDOM,SVC" doc:"Which password is sent: the user's or a random one."`

	Change model.PasswordChange `json:"change,omitempty" empty:"absent"`
}

// MoreTags implements rest.Described.
func (PasswordSwitch) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"change": `enum:"KEEP_EXISTING,CHANGE" doc:"Whether existing accounts get another password when that of the user changes. ` +
			`Otherwise only new accounts get one."`,
	}
}

// feature is a row of the table of features.
type feature struct {
	name, description string
	// show returns the capabilities of a connection.
	show func(c *model.Connection) Capabilities
	// set puts the capabilities that were sent into a connection.
	set func(c *model.Connection, sent Capabilities)
}

var features = []feature{
	{
		name:        "USER_PROVISIONING",
		description: "Creates, updates and deactivates users in the target",
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
		description: "Makes and updates users from the accounts of the target",
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

// set puts the switch, when there is one, into an option.
func (s *Switch) set(option *bool) {
	if s != nil && s.Status != "" {
		*option = s.Status == enabled
	}
}

// asSwitch is the part that every capability has.
func (s *PasswordSwitch) asSwitch() *Switch { return &Switch{s.Status} }

func named(name string) (feature, bool) {
	for _, f := range features {
		if f.name == name {
			return f, true
		}
	}
	return feature{}, false
}

// render shows the feature over a connection.
func (f feature) render(ctx context.Context, app string, c *model.Connection) Feature {
	return Feature{
		Name: f.name, Status: onOff(c.Enabled), Description: f.description, Capabilities: f.show(c),
		Links: rest.Links{"self": rest.To(rest.URL(ctx, "api", "v1", "apps", app, "features", f.name), "GET", "PUT")},
	}
}

// shownConnection reads the connection that features are shown over: one that is enabled, or was.
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

// enabledConnection reads the connection that changes of features need.
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

	imports model.ImportSettings // as they are so far
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

// checkFeatureUpdate checks the settings of imports.
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
