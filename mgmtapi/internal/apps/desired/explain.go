package desired

import (
	"context"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Value describes the origin of an attribute value.
type Value struct {
	Path   string // path of the attribute on the target, in the notation of RFC 7644 section 3.10
	Source string // what the value is derived from
	Rule   string // how the value is derived from the source
	Value  any
}

// ExplainUser returns the reasons why a user is, or is not, provisioned to the target of an application, from cause to effect, and the
// origins of its attribute values.
func (s *State) ExplainUser(ctx context.Context, app, user string) (reasons []string, values []Value, err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		reasons, values, err = s.explainUser(ctx, q, app, user)
		return err
	})
	return reasons, values, err
}

func (s *State) explainUser(ctx context.Context, q docstore.Reader, app, user string) (reasons []string, values []Value, err error) {
	assignment, err := model.Optional(ctx, q, s.AppUsers, model.AppUserID(app, user))
	if err != nil {
		return nil, nil, err
	}
	if assignment == nil {
		return []string{"The user is not assigned to the application."}, nil, nil
	}
	u := &assignment.Value
	if reasons, err = s.assignmentReasons(ctx, q, u); err != nil {
		return nil, nil, err
	}
	held, err := s.holdReason(ctx, q, u)
	if err != nil {
		return nil, nil, err
	}
	if held != "" {
		reasons = append(reasons, held)
	}
	a, err := model.Optional(ctx, q, s.Apps, app)
	if err != nil || a == nil {
		return reasons, nil, err
	}
	schema, err := s.AppSchema(ctx, q, app)
	if err != nil {
		return nil, nil, err
	}
	rules, err := s.rules(ctx, q, &a.Value, u)
	return reasons, valuesOf(&a.Value, u, &schema, rules), err
}

// rules returns the mapping rules that apply to an assignment.
func (s *State) rules(ctx context.Context, q docstore.Reader, app *model.App, u *model.AppUser) (map[string]model.MappingRule, error) {
	user, err := model.Optional(ctx, q, s.Users, u.UserID)
	if err != nil || user == nil {
		return nil, err
	}
	found, err := s.Mappings.Query(ctx, q, docstore.Query[model.Mapping]{
		Where: docstore.Eq(model.MappingByPair, docstore.JoinID(u.AppID, user.Value.Type, string(model.ToApp))), Limit: 1,
	})
	if err != nil {
		return nil, err
	}
	var mapping *model.Mapping
	if len(found.Docs) > 0 {
		mapping = &found.Docs[0].Value
	}
	conn, err := model.Optional(ctx, q, s.Connections, u.AppID)
	if err != nil {
		return nil, err
	}
	if conn == nil {
		return appprofile.Rules(app, nil, mapping), nil
	}
	return appprofile.Rules(app, &conn.Value, mapping), nil
}

// assignmentReasons returns how a user was assigned to an application.
func (s *State) assignmentReasons(ctx context.Context, q docstore.Reader, u *model.AppUser) ([]string, error) {
	switch {
	case !u.Listed():
		return []string{"The user is no longer assigned to the application."}, nil
	case u.Scope != model.ScopeGroup:
		return []string{"The user is assigned to the application directly."}, nil
	}
	group, err := model.Optional(ctx, q, s.Groups, u.Group)
	if err != nil {
		return nil, err
	}
	name := u.Group
	if group != nil {
		name = group.Value.Name()
	}
	return []string{
		fmt.Sprintf("The user is a member of the group %s.", name),
		fmt.Sprintf("The group %s is assigned to the application.", name),
	}, nil
}

// holdReason returns the reason for the state of an account if the assignment alone does not determine the state. Otherwise it returns "".
// It distinguishes the same cases as the function wanted, which returns the desired state.
func (s *State) holdReason(ctx context.Context, q docstore.Reader, u *model.AppUser) (string, error) {
	switch {
	case !u.Listed() && u.SyncState == model.SyncDisabled:
		return "The assignment was removed while Deactivate Users was off, so the account stays as it is.", nil
	case !u.Listed():
		return "", nil
	case u.Blocked:
		return "The user name cannot be used: " + u.ErrorSummary, nil
	case !u.Provisioned():
		return "The assignment was made while Create Users was off, so the engine does not create or change an account for it.", nil
	}
	user, err := model.Optional(ctx, q, s.Users, u.UserID)
	switch {
	case err != nil:
		return "", err
	case user == nil:
		return "The user was deleted.", nil
	}
	switch user.Value.Status {
	case model.UserStaged, model.UserSuspended:
		return fmt.Sprintf("The user is %s, so the account stays as it is.", user.Value.Status), nil
	case model.UserDeprovisioned:
		return fmt.Sprintf("The user is %s, so the account is inactive.", user.Value.Status), nil
	default:
		return "", nil
	}
}

// valuesOf returns the origins of the values of an assignment. Supplied values override the profile of the group, which overrides the
// mapping. A group value that equals the mapped value is reported as mapped.
func valuesOf(app *model.App, u *model.AppUser, schema *model.AppSchema, rules map[string]model.MappingRule) []Value {
	template := app.Credentials.UserNameTemplate
	if template.Template == "" {
		template.Template = appprofile.DefaultTemplate
	}
	name := Value{Path: "userName", Source: "the user name template of the application", Rule: template.Template + template.Suffix,
		Value: u.UserName}
	if u.UserNameGiven {
		name.Source, name.Rule = "the assignment", "supplied"
	}
	values := []Value{{Path: "externalId", Source: "the id of the user", Rule: "id", Value: u.UserID}, name}
	for _, a := range attributesOf(schema) {
		value := u.Profile[a.app]
		if model.NoValue(value) {
			continue
		}
		rule, mapped := rules[a.app]
		v := Value{Path: a.path, Source: "the profile of the user", Rule: rule.Expression, Value: value}
		if _, supplied := u.Overrides[a.app]; supplied {
			v.Source, v.Rule = "the assignment", "supplied"
		} else if !mapped {
			v.Source, v.Rule = "the group of the assignment", "supplied"
		}
		if slices.Contains(u.Hidden, a.app) {
			v.Value = "is not shown"
		}
		values = append(values, v)
	}
	return values
}

// ExplainGroup returns the reasons why a group is, or is not, pushed to the target of an application, and the origins of the attribute
// values of the group on the target.
func (s *State) ExplainGroup(ctx context.Context, app, group string) (reasons []string, values []Value, err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		reasons, values, err = s.explainGroup(ctx, q, app, group)
		return err
	})
	return reasons, values, err
}

func (s *State) explainGroup(ctx context.Context, q docstore.Reader, app, group string) (reasons []string, values []Value, err error) {
	mapping, err := s.mapping(ctx, q, app, group)
	switch {
	case err != nil:
		return nil, nil, err
	case mapping == nil:
		return []string{"The group is not pushed to the application."}, nil, nil
	case mapping.Value.Deleted && mapping.Value.DeleteTarget:
		return []string{"The group is no longer pushed to the application; it is deleted on the target."}, nil, nil
	case mapping.Value.Deleted:
		return []string{"The group is no longer pushed to the application; it remains on the target."}, nil, nil
	}
	reasons = []string{"The group is pushed to the application."}
	if mapping.Value.Status == model.PushInactive {
		reasons = append(reasons, "The push is inactive, so the group on the target stays as it is.")
	}
	target, err := s.Groups.Get(ctx, q, mapping.Value.TargetGroupID)
	if err != nil {
		return nil, nil, err
	}
	return reasons, []Value{
		{Path: "displayName", Source: "the target group of the push mapping", Rule: "name", Value: target.Value.Name()}}, nil
}
