package mappings

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

type updateRequest struct {
	target
	Body body `body:"required"`
}

// body is the body of an update. Read-only members are ignored, so that a client can send back a mapping as it was read.
type body struct {
	Properties map[string]*given `json:"properties" doc:"Rules by target attribute; null removes a rule."`
}

// given holds the members of a rule in a body. Omitted members keep their values.
type given struct {
	Expression string           `json:"expression" empty:"absent" doc:"Expression over the attributes of the source."`
	PushStatus model.PushStatus `json:"pushStatus" empty:"absent" enum:"PUSH,DONT_PUSH" doc:"When the value is set. Default: PUSH."`
}

// checkUpdate validates the rules against both schemas as they were read.
func checkUpdate(_ context.Context, r *updateRequest, causes *rest.Causes) error {
	r.apply(&r.Body, causes)
	return nil
}

// apply returns the rules with the changes of the body, and records errors in them.
func (t *target) apply(b *body, causes *rest.Causes) map[string]*model.MappingRule {
	out, now, source := maps.Clone(t.found.Value.Rules), t.rules(), t.source()
	if out == nil {
		out = map[string]*model.MappingRule{}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Properties)) {
		path := "properties." + name
		property, known := t.property(name)
		g, before := b.Properties[name], now[name]
		if !known {
			causes.Add(path, "The target of the mapping has no attribute with this name")
			continue
		}
		if g == nil {
			out[name] = nil
			continue
		}
		rule := model.MappingRule{
			Expression: cmp.Or(g.Expression, before.Expression), PushStatus: cmp.Or(g.PushStatus, before.PushStatus, model.Push),
		}
		switch {
		case rule.Expression == "":
			causes.Blank(path + ".expression")
		case rule == before: // unchanged: a default rule stays a default
		default:
			if err := appprofile.CheckRule(t.found.Value.Direction, rule.Expression, source, &property); err != nil {
				causes.Add(path+".expression", "%s", err)
			}
			out[name] = &rule
		}
	}
	return out
}

func (s *Slice) update(ctx context.Context, r *updateRequest) (Mapping, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, &r.target); err != nil {
			return err
		}
		var causes rest.Causes
		rules := r.apply(&r.Body, &causes)
		if err := causes.Err(); err != nil {
			return err
		}
		before := r.rules()
		m := r.found.Value
		m.Rules, m.TestsGroups = rules, false
		for _, rule := range rules {
			m.TestsGroups = m.TestsGroups || m.Direction == model.ToApp && rule != nil && appprofile.TestsGroups(rule.Expression)
		}
		var err error
		if r.found, err = s.Mappings.Update(ctx, tx, r.found.ID, r.found.Rev, m); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: audit.MappingUpdate, Targets: r.parties()}); err != nil {
			return err
		}
		if m.Direction == model.ToUser || reflect.DeepEqual(before, r.rules()) {
			return nil
		}
		return s.Feed.Emit(ctx, tx, model.MappingChanged{App: m.App})
	})
	if err != nil {
		return Mapping{}, err
	}
	return r.render(ctx), nil
}

// parties returns the targets of log entries about a mapping.
func (t *target) parties() []model.LogParty {
	return []model.LogParty{
		audit.Mapping(t.found.ID), audit.App(t.ends.app.ID, &t.ends.app.Value), audit.UserType(t.ends.userType.ID, &t.ends.userType.Value),
	}
}
