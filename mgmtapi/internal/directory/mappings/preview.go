package mappings

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func (s *Slice) previewRoute() rest.Route {
	return rest.Op[previewRequest, Preview]{
		ID: "previewProfileMapping", Route: "POST /api/v1/mappings/{mappingId}/preview", Tag: tag,
		Scopes:  []string{"svc.profileMappings.manage"},
		Summary: "Evaluates a profile mapping for a user, with changed rules and without them",
		Description: "The mapping is one from a user type to an application. The rules in the body have the form of an update; they are not " +
			"stored. Attributes of the user that are hidden have no value in the preview.",
		Find: lookup.InView(s.Store, s.find, (*previewRequest).self), Check: checkPreview, Do: s.preview,
	}
}

type previewRequest struct {
	target
	Body struct {
		body

		UserID string `json:"userId" required:"true" doc:"Id of the user."`
	} `body:"required"`
}

// Preview is the result of a mapping for a user.
type Preview struct {
	UserID string         `json:"userId" readOnly:"true" doc:"Id of the user."`
	Values []PreviewValue `json:"values" readOnly:"true" doc:"The attributes with a rule, sorted by name."`
}

// PreviewValue is an attribute with its rule, and the same with the changed rules.
type PreviewValue struct {
	Attribute string `json:"attribute" readOnly:"true" doc:"Attribute of the application's profile."`
	Result
	Draft   Result `json:"draft" readOnly:"true" doc:"The same with the changed rules."`
	Changed bool   `json:"changed" readOnly:"true" doc:"true if the changed rules have another result."`
}

// Result is the result of a rule.
type Result struct {
	Expression string `json:"expression,omitempty" readOnly:"true" doc:"The rule; absent if there is none."`
	Value      any    `json:"value,omitempty" readOnly:"true" doc:"The result; absent if the rule has none."`
	Problem    string `json:"problem,omitempty" readOnly:"true" doc:"Why the result does not fit the attribute."`
}

func checkPreview(_ context.Context, r *previewRequest, causes *rest.Causes) error {
	if r.found.Value.Direction != model.ToApp {
		causes.Add("mappingId", "Only mappings from a user type to an application have a preview")
		return nil
	}
	r.apply(&r.Body.body, causes)
	return nil
}

func (s *Slice) preview(ctx context.Context, r *previewRequest) (out Preview, err error) {
	err = s.Store.View(ctx, func(q docstore.Reader) error {
		user, err := s.Users.Get(ctx, q, r.Body.UserID)
		if err != nil {
			return rest.Missing(err, "User", r.Body.UserID)
		}
		values, err := s.valuesFor(ctx, q, r, user)
		if err != nil {
			return err
		}
		now := r.rules()
		changed := r.found.Value
		changed.Rules = r.apply(&r.Body.body, &rest.Causes{})
		draft := appprofile.Rules(&r.ends.app.Value, r.connection, &changed)
		before, after := r.results(now, values), r.results(draft, values)
		out = Preview{UserID: user.ID, Values: []PreviewValue{}}
		names := maps.Clone(now)
		maps.Copy(names, draft)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			v := PreviewValue{Attribute: name, Result: before[name], Draft: after[name]}
			v.Changed = !reflect.DeepEqual(v.Value, v.Draft.Value) || v.Problem != v.Draft.Problem
			out.Values = append(out.Values, v)
		}
		return nil
	})
	return out, err
}

// valuesFor returns the input of the rules for a user.
func (s *Slice) valuesFor(
	ctx context.Context, q docstore.Reader, r *previewRequest, user docstore.Doc[model.User],
) (*appprofile.Values, error) {
	org, err := s.Org(ctx, q)
	if err != nil {
		return nil, err
	}
	source := maps.Clone(user.Value.Profile)
	for _, hidden := range user.Value.Hidden {
		delete(source, hidden)
	}
	v := &appprofile.Values{Source: source, AppID: r.ends.app.ID, App: &r.ends.app.Value, Org: org.ID}
	var ids []string
	err = model.Each(ctx, q, s.Memberships, docstore.Eq(model.MembershipByUser, user.ID), func(m docstore.Doc[model.Membership]) error {
		ids = append(ids, m.Value.Group)
		return nil
	})
	if err != nil {
		return nil, err
	}
	groups, err := s.Groups.GetMany(ctx, q, ids)
	for _, g := range groups {
		v.Groups = append(v.Groups, g.Value.Named(g.ID))
	}
	return v, err
}

// results evaluates rules.
func (t *target) results(rules map[string]model.MappingRule, v *appprofile.Values) map[string]Result {
	var programs appprofile.Programs
	found := programs.Compile(rules, t.property).Apply(v, true, nil, nil)
	out := map[string]Result{}
	for name, rule := range rules {
		x := Result{Expression: rule.Expression, Value: found.Profile[name], Problem: found.Problems[name]}
		if name == model.AppUserName {
			if text := programs.Text(rule.Expression, v); text != "" {
				x.Value = text
			}
		}
		out[name] = x
	}
	return out
}
