package imports

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/desired"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// importContext holds the documents that apply to the import of all accounts of an application.
type importContext struct {
	app      docstore.Doc[model.App]
	conn     *model.Connection
	settings model.ImportSettings
	schema   model.AppSchema
	org      model.Org
	// types caches the user types that were read, by id.
	types map[string]*userType
}

// userType is the schema of a user type and the mapping to it.
type userType struct {
	schema       model.UserSchema
	all, updates *appprofile.Mapping // all contains all rules; updates contains the rules that also apply when an existing user is updated
}

// loadContext reads the importContext of an application, nil if the application does not exist.
func (s *Service) loadContext(ctx context.Context, q docstore.Reader, app string) (*importContext, error) {
	doc, err := model.Optional(ctx, q, s.Apps, app)
	if err != nil || doc == nil {
		return nil, err
	}
	a := &importContext{app: *doc, types: map[string]*userType{}}
	conn, err := model.Optional(ctx, q, s.Connections, app)
	if err != nil {
		return nil, err
	}
	if conn != nil {
		a.conn = &conn.Value
	}
	a.settings = a.conn.ImportSettings()
	if a.schema, err = s.AppSchema(ctx, q, app); err != nil {
		return nil, err
	}
	a.org, err = s.Org(ctx, q)
	return a, err
}

// userTypeOf returns the schema of a user type and the mapping to it, from the cache if possible.
func (s *Service) userTypeOf(ctx context.Context, q docstore.Reader, a *importContext, id string) (*userType, error) {
	if t := a.types[id]; t != nil {
		return t, nil
	}
	schema, err := s.UserSchemas.Get(ctx, q, model.UserSchemaID(id))
	if err != nil {
		return nil, err
	}
	found, err := s.Mappings.Query(ctx, q, docstore.Query[model.Mapping]{
		Where: docstore.Eq(model.MappingByPair, docstore.JoinID(a.app.ID, id, string(model.ToUser))), Limit: 1,
	})
	if err != nil {
		return nil, err
	}
	mapping := &model.Mapping{Direction: model.ToUser}
	if len(found.Docs) > 0 {
		mapping = &found.Docs[0].Value
	}
	t := &userType{schema: schema.Value}
	rules := appprofile.Rules(&a.app.Value, a.conn, mapping)
	t.all = s.programs.Compile(rules, t.schema.Property)
	updates := maps.Clone(rules)
	maps.DeleteFunc(updates, func(name string, r model.MappingRule) bool {
		p, _ := t.schema.Property(name)
		return r.PushStatus != model.Push || p.Master != nil && p.Master.Type == model.MasterService || p.Mutability == model.Immutable
	})
	t.updates = s.programs.Compile(updates, t.schema.Property)
	a.types[id] = t
	return t, nil
}

// applyRules returns the user profile that rules derive from the profile of an account.
func (a *importContext) applyRules(m *appprofile.Mapping, shown map[string]any) map[string]any {
	v := &appprofile.Values{Source: shown, AppID: a.app.ID, App: &a.app.Value, Org: a.org.ID}
	return m.Apply(v, true, nil, nil).Profile
}

// step describes how to process one account.
type step struct {
	account Account
	shown   map[string]any // profile of the account, by the names of app attributes
	// action and user are the decision; app and profile are the values for the assignment and the user.
	action  model.ImportAction
	user    string
	app     map[string]any
	profile map[string]any

	confirmed bool   // needs no consent
	known     bool   // the account is linked already
	inactive  bool   // the account is inactive and is not imported
	nothing   bool   // nothing to do
	hooked    bool   // an inline hook has changed the step
	problem   string // why the account is not imported
	note      string // a problem that does not prevent the import of the account
}

// label returns the prefix of messages about the account.
func (st *step) label() string { return "account " + st.account.ID + " (" + st.account.Name + "): " }

// prepare returns the step of an account.
func (s *Service) prepare(ctx context.Context, a *importContext, job string, account Account) (*step, error) {
	st := &step{account: account}
	if account.Resource == nil {
		st.nothing = true
		return st, nil
	}
	st.shown = desired.AccountProfile(account.Resource, &a.schema)
	st.app = st.shown
	if !account.Active {
		st.inactive = true
		return st, nil
	}
	switch account.Verdict {
	case Linked:
		st.known, st.user, st.action, st.confirmed = true, account.User, model.ImportLink, true
	case Matched:
		st.user, st.action, st.confirmed = account.User, model.ImportLink, a.settings.ConfirmExact
	case Partial, Ambiguous:
		st.action = model.ImportLink
		if len(account.Candidates) == 1 && account.Verdict == Partial {
			st.user, st.confirmed = account.Candidates[0], a.settings.ConfirmPartial
		}
	case Unmatched:
		st.action, st.confirmed = model.ImportCreate, a.settings.ConfirmNew
	default:
		st.nothing = true
		return st, nil
	}
	if err := s.derive(ctx, a, st); err != nil || st.nothing || st.known {
		return st, err
	}
	return st, s.ask(ctx, a, job, st)
}

// derive sets the profile of the user: all attributes for a new user, else those that have changed on the account.
func (s *Service) derive(ctx context.Context, a *importContext, st *step) error {
	q := s.Store.Reader()
	if st.action == model.ImportCreate {
		t, err := s.userTypeOf(ctx, q, a, a.org.UserType)
		if err == nil {
			st.profile = a.applyRules(t.all, st.shown)
		}
		return err
	}
	if st.user == "" {
		return nil
	}
	var before map[string]any // profile of the account at the last import
	assignment, err := model.Optional(ctx, q, s.AppUsers, model.AppUserID(a.app.ID, st.user))
	if err != nil {
		return err
	}
	if st.known {
		if assignment == nil || !assignment.Value.Listed() { // the assignment was removed: an import does not restore it
			st.nothing = true
			return nil
		}
		before = assignment.Value.Account
		if st.nothing = reflect.DeepEqual(before, st.shown); st.nothing {
			return nil
		}
	}
	is, fresh := st.shown, before == nil
	if assignment != nil && assignment.Value.Listed() {
		u := &assignment.Value
		unseen := u.Unseen()
		fresh = fresh && len(unseen) == 0
		st.app = replaced(st.shown, u, slices.Concat(unseen, unchanged(u, before, st.shown)))
		before, is = replaced(before, u, unseen), replaced(st.shown, u, unseen)
	}
	user, err := model.Optional(ctx, q, s.Users, st.user)
	if err != nil {
		return err
	}
	if user == nil {
		st.problem = "The user " + st.user + " was deleted"
		return nil
	}
	t, err := s.userTypeOf(ctx, q, a, user.Value.Type)
	if err != nil {
		return err
	}
	old, made := a.applyRules(t.updates, before), a.applyRules(t.updates, is)
	st.profile = map[string]any{}
	for name := range old {
		if _, still := made[name]; !still && !fresh {
			st.profile[name] = nil
		}
	}
	for name, value := range made {
		if !reflect.DeepEqual(old[name], value) || fresh {
			st.profile[name] = value
		}
	}
	return nil
}

// replaced returns a copy of shown, the profile of an account, in which the given attributes have the values of u, the assignment.
func replaced(shown map[string]any, u *model.AppUser, attributes []string) map[string]any {
	out := maps.Clone(shown)
	if out == nil {
		out = map[string]any{}
	}
	for _, name := range attributes {
		value := u.Profile[name]
		if name == model.AppUserName {
			value = u.UserName
		}
		if out[name] = value; model.NoValue(value) {
			delete(out, name)
		}
	}
	return out
}

// unchanged lists the attributes that have the same value on the account as at the last import.
func unchanged(u *model.AppUser, before, shown map[string]any) (names []string) {
	for _, profile := range []map[string]any{before, shown, u.Profile} {
		for name := range profile {
			if reflect.DeepEqual(before[name], shown[name]) {
				names = append(names, name)
			}
		}
	}
	return names
}

// ask calls the inline hook and applies its decision to the step.
func (s *Service) ask(ctx context.Context, a *importContext, job string, st *step) error {
	matches := slices.Clone(st.account.Candidates)
	if st.user != "" {
		matches = []string{st.user}
	}
	var conflicts []string
	if st.account.Verdict == Ambiguous {
		conflicts = []string{"match"}
	}
	asked := calls.Import{
		App: a.app, Job: job, Action: st.action, User: st.user, Matches: matches, Conflicts: conflicts, AppProfile: st.app,
		UserProfile: st.profile,
	}
	said, changed, err := s.o.Hook.TransformImport(ctx, asked)
	if denied, ok := errors.AsType[*calls.HookError](err); ok {
		st.problem = denied.Error()
		return nil
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		_, failed := errors.AsType[*calls.CallError](err)
		_, refused := errors.AsType[*calls.Refusal](err)
		if !failed && !refused {
			return err
		}
		st.note = err.Error() // the system log has details; the account is imported as without a hook
		return nil
	}
	if !changed {
		return nil
	}
	st.hooked = true
	if said.Action != st.action || said.User != st.user {
		if said.Action == model.ImportCreate {
			st.confirmed = a.settings.ConfirmNew
		} else {
			st.confirmed = a.settings.ConfirmExact
		}
	}
	st.action, st.user, st.app, st.profile = said.Action, said.User, said.AppProfile, said.UserProfile
	return nil
}
