package desired

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/drift"
	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/scim"
)

// User is the desired state of a user in an app. A write replaces all fields.
type User struct {
	ID      string
	Version int64
	// Want is engine.Active, Inactive, Absent (the user was deleted) or Keep.
	Want engine.Want
	// Resource has the attributes of the account including externalId, without id, meta, active, groups and password. An active user has
	// either a Resource or, if the app has rules, a Profile. For other states both are optional.
	Resource *scim.Resource
	// OnCreate has attributes that are only sent when the account is created; see engine.UserState. Not with a Profile: its rules have
	// CreateOnly.
	OnCreate *scim.Resource
	// Profile has the attributes from which the rules of the app derive the resource, as JSON values.
	Profile map[string]any
	Manager string // id of the user's manager; see engine.UserState
	// RemoteID links the user to this account on the target instead of a lookup.
	RemoteID string
	// Password and PasswordVersion have the same meaning as in engine.UserState. The Store returns users without the Password.
	Password        string
	PasswordVersion string

	// HasPassword and ChangedAt are set in the Users that the Store returns.
	HasPassword bool
	ChangedAt   time.Time
}

// Group is the desired state of a pushed group in an app. A write replaces all fields. Its members are a separate object; see Members.
type Group struct {
	ID           string
	Version      int64
	Want         engine.Want // engine.Active, Inactive (the engine sends nothing) or Absent (the group was deleted)
	DisplayName  string      // required if Want is Active
	RemoteID     string      // id of the group on the target to link. Default: a lookup by displayName
	DeleteRemote bool        // if Want is Absent: delete the group on the target. Default: only remove the link

	ChangedAt time.Time // set in the Groups that the Store returns
}

// principal is a user or group in its stored form.
type principal struct {
	kind     engine.Kind
	id       string
	version  int64
	want     engine.Want
	doc      principalDoc
	password string // not encrypted
	text     []byte // doc as JSON

	keys matchKeys // see match.go
}

// principalDoc is the stored JSON of a user or group.
type principalDoc struct {
	Resource        *scim.Resource `json:"resource,omitempty"`
	OnCreate        *scim.Resource `json:"onCreate,omitempty"`
	Profile         *scim.Object   `json:"profile,omitempty"`
	Manager         string         `json:"manager,omitempty"`
	RemoteID        string         `json:"remoteId,omitempty"`
	PasswordVersion string         `json:"passwordVersion,omitempty"`
	DisplayName     string         `json:"displayName,omitempty"`
	DeleteRemote    bool           `json:"deleteRemote,omitempty"`
}

// appendJSON appends what json.Marshal returns. It is several times faster, because json.Marshal parses the result of each MarshalJSON.
func (d *principalDoc) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	name := func(name string) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(scim.AppendString(dst, name), ':')
	}
	for _, r := range []struct {
		name  string
		value *scim.Resource
	}{{"resource", d.Resource}, {"onCreate", d.OnCreate}} {
		if r.value != nil {
			name(r.name)
			dst = r.value.AppendJSON(dst)
		}
	}
	if d.Profile != nil {
		name("profile")
		dst = d.Profile.AppendJSON(dst)
	}
	for _, t := range []struct{ name, value string }{
		{"manager", d.Manager}, {"remoteId", d.RemoteID}, {"passwordVersion", d.PasswordVersion}, {"displayName", d.DisplayName},
	} {
		if t.value != "" {
			name(t.name)
			dst = scim.AppendString(dst, t.value)
		}
	}
	if d.DeleteRemote {
		name("deleteRemote")
		dst = append(dst, "true"...)
	}
	return append(dst, '}')
}

// equal compares two forms by their values.
func (d *principalDoc) equal(o *principalDoc) bool {
	return d.Manager == o.Manager && d.RemoteID == o.RemoteID && d.PasswordVersion == o.PasswordVersion && d.DisplayName == o.DisplayName &&
		d.DeleteRemote == o.DeleteRemote && sameResource(d.Resource, o.Resource) && sameResource(d.OnCreate, o.OnCreate) &&
		(d.Profile == nil) == (o.Profile == nil) && (d.Profile == nil || scim.Equal(d.Profile, o.Profile))
}

func sameResource(a, b *scim.Resource) bool {
	return (a == nil) == (b == nil) && (a == nil || scim.Equal(&a.Object, &b.Object))
}

func decodePrincipal(text string) (d principalDoc, err error) {
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("desired: a stored user or group: %w", err)
	}
	return d, nil
}

// managed are the attributes that the engine sets itself.
var managed = []string{"id", "meta", "active", "groups", "password"}

func checkResource(member string, r *scim.Resource) error {
	if r == nil {
		return nil
	}
	for _, name := range managed {
		if _, ok := r.Get(name); ok {
			return &InputError{member + "." + name, "the engine sets this attribute: omit it"}
		}
	}
	return checkObject(member, &r.Object)
}

func checkObject(member string, o *scim.Object) error {
	if storable(o, 1) {
		return nil
	}
	return problemIn(o, member, 1)
}

// storable reports whether a value can be stored as JSON and read again. problemIn returns the reason.
func storable(value any, depth int) bool {
	switch v := value.(type) {
	case string:
		return storableText(v)
	case []any:
		return depth <= scim.MaxDepth && !slices.ContainsFunc(v, func(e any) bool { return !storable(e, depth+1) })
	case *scim.Object:
		if depth > scim.MaxDepth || v.Len() > scim.MaxMembers {
			return false
		}
		for name, e := range v.All() {
			if !storableText(name) || !storable(e, depth+1) {
				return false
			}
		}
	}
	return true
}

func storableText(text string) bool { return strings.IndexByte(text, 0) < 0 && utf8.ValidString(text) }

// problemIn returns the error for the first part of a value that is not storable.
func problemIn(value any, path string, depth int) *InputError {
	switch v := value.(type) {
	case []any:
		for i, e := range v {
			if depth <= scim.MaxDepth && !storable(e, depth+1) {
				return problemIn(e, fmt.Sprintf("%s[%d]", path, i), depth+1)
			}
		}
	case *scim.Object:
		for name, e := range v.All() {
			if depth <= scim.MaxDepth && v.Len() <= scim.MaxMembers && storableText(name) && !storable(e, depth+1) {
				return problemIn(e, path+"."+name, depth+1)
			}
		}
	case string:
		return &InputError{path, "the value must not contain U+0000 or invalid UTF-8"}
	}
	return &InputError{path, fmt.Sprintf(
		"an object has at most %d members, no name with U+0000, and at most %d nested objects and arrays", scim.MaxMembers, scim.MaxDepth)}
}

// stored returns the stored form of a user, or an *InputError. rules are those of the app, nil if it has none.
func (u *User) stored(rules *mapping.Mapping) (*principal, error) {
	if err := u.checkTexts(); err != nil {
		return nil, err
	}
	p := &principal{kind: engine.User, id: u.ID, version: u.Version, want: u.Want, password: u.Password, doc: principalDoc{
		Resource: u.Resource, OnCreate: u.OnCreate, Manager: u.Manager, RemoteID: u.RemoteID, PasswordVersion: u.PasswordVersion,
	}}
	if u.Profile != nil {
		value, err := scim.Value(u.Profile)
		if err != nil {
			return nil, &InputError{"profile", err.Error()}
		}
		p.doc.Profile, _ = value.(*scim.Object)
		if err := checkObject("profile", p.doc.Profile); err != nil {
			return nil, err
		}
	}
	resource := u.Resource
	switch {
	case u.Profile != nil && (u.Resource != nil || u.OnCreate != nil):
		return nil, &InputError{"profile", "a user has either a profile or a resource and onCreate"}
	case u.Profile != nil && rules == nil:
		return nil, &InputError{"profile", "the app has no mapping rules: send the resource"}
	case u.Profile != nil:
		made, err := derive(rules, p.doc.Profile)
		if err != nil && u.Want == engine.Active {
			return nil, &InputError{"profile", err.Error()}
		}
		resource = made.Resource
	case u.Resource == nil && u.Want == engine.Active:
		return nil, &InputError{"resource", "an active user needs a resource, or a profile if the app has mapping rules"}
	}
	if err := checkResource("resource", u.Resource); err != nil {
		return nil, err
	}
	if err := checkResource("onCreate", u.OnCreate); err != nil {
		return nil, err
	}
	if resource != nil {
		p.keys = keysOf(u.ID, drift.ObjectOf(resource))
	}
	p.text = p.doc.appendJSON(nil)
	if len(p.text) > MaxResource {
		return nil, p.doc.tooLarge()
	}
	return p, nil
}

// prepared is a user with the stored form that results from rules.
type prepared struct {
	User
	rules *mapping.Mapping
	form  *principal
	err   error
}

// prepare computes the stored form of a user before the transaction that writes the user.
func prepare(u User, rules *mapping.Mapping) prepared {
	p := prepared{User: u, rules: rules}
	p.form, p.err = u.stored(rules)
	return p
}

// stored returns the stored form. It computes the form again if the rules of the app were changed since.
func (p prepared) stored(rules *mapping.Mapping) (*principal, error) {
	if rules == p.rules {
		return p.form, p.err
	}
	return p.User.stored(rules)
}

// tooLarge returns the error of a user whose stored form exceeds MaxResource.
func (d *principalDoc) tooLarge() error {
	member := "profile"
	if d.Profile == nil {
		member = "resource"
	}
	return &InputError{member, fmt.Sprintf("the user must have at most %d bytes as JSON", MaxResource)}
}

func (u *User) checkTexts() error {
	if err := checkID("id", u.ID); err != nil {
		return err
	}
	if err := checkVersion("version", u.Version); err != nil {
		return err
	}
	if err := checkWant(u.Want, engine.Active, engine.Inactive, engine.Absent, engine.Keep); err != nil {
		return err
	}
	if u.Manager != "" {
		if err := checkID("manager", u.Manager); err != nil {
			return err
		}
	}
	for member, text := range map[string]string{
		"remoteId": u.RemoteID, "password": u.Password, "passwordVersion": u.PasswordVersion,
	} {
		if err := checkText(member, text); err != nil {
			return err
		}
	}
	return nil
}

// stored returns the stored form of a group, or an *InputError.
func (g *Group) stored() (*principal, error) {
	if err := checkID("id", g.ID); err != nil {
		return nil, err
	}
	if err := checkVersion("version", g.Version); err != nil {
		return nil, err
	}
	if err := checkWant(g.Want, engine.Active, engine.Inactive, engine.Absent); err != nil {
		return nil, err
	}
	for member, text := range map[string]string{"displayName": g.DisplayName, "remoteId": g.RemoteID} {
		if err := checkText(member, text); err != nil {
			return nil, err
		}
	}
	if g.Want == engine.Active && strings.TrimSpace(g.DisplayName) == "" {
		return nil, &InputError{"displayName", "an active group needs a displayName"}
	}
	p := &principal{
		kind: engine.Group, id: g.ID, version: g.Version, want: g.Want, keys: keysOf(g.ID, drift.Object{UserName: g.DisplayName}),
		doc: principalDoc{DisplayName: g.DisplayName, RemoteID: g.RemoteID, DeleteRemote: g.DeleteRemote},
	}
	p.text = p.doc.appendJSON(nil)
	return p, nil
}

// derive applies the rules of an app to a profile.
func derive(rules *mapping.Mapping, profile *scim.Object) (mapping.Result, error) {
	return rules.Apply(valuesOf(profile))
}

func valuesOf(profile *scim.Object) mapping.Values {
	attributes, _ := plain(profile).(map[string]any)
	return mapping.Values{Objects: map[string]map[string]any{subject: attributes}}
}

// plain converts a stored value to maps and slices.
func plain(value any) any {
	switch v := value.(type) {
	case *scim.Object:
		out := make(map[string]any, v.Len())
		for name, e := range v.All() {
			out[name] = plain(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	}
	return value
}
