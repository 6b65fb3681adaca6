package grouprules

import (
	"context"
	"net/http"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Slice serves the group rules and applies them.
type Slice struct {
	model.Deps
	programs programs
}

// New returns the slice and registers its event handlers.
func New(d model.Deps) *Slice {
	s := &Slice{Deps: d}
	s.react()
	return s
}

const tag = "Group rules"

var (
	readScope  = []string{"svc.groups.read"}
	writeScope = []string{"svc.groups.manage"}
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return []rest.Route{
		rest.Op[createRequest, GroupRule]{
			ID: "createGroupRule", Route: "POST /api/v1/groups/rules", Tag: tag, Scopes: writeScope,
			Summary: "Creates an inactive group rule", Do: s.create,
		},
		rest.Op[listRequest, rest.Page[GroupRule]]{
			ID: "listGroupRules", Route: "GET /api/v1/groups/rules", Tag: tag, Scopes: readScope,
			Summary: "Lists the group rules", Do: s.list,
		},
		rest.Op[getRequest, GroupRule]{
			ID: "getGroupRule", Route: "GET /api/v1/groups/rules/{ruleId}", Tag: tag, Scopes: readScope,
			Summary: "Reads a group rule", Find: lookup.In(s.Store, s.find, (*getRequest).self), Do: s.get,
		},
		rest.Op[replaceRequest, GroupRule]{
			ID: "replaceGroupRule", Route: "PUT /api/v1/groups/rules/{ruleId}", Tag: tag, Scopes: writeScope,
			Summary:     "Replaces name and conditions of a group rule",
			Description: "The rule must not be active. Its groups cannot be changed.", Find: lookup.In(s.Store, s.find, (*replaceRequest).self),
			Do: s.replace,
		},
		rest.Op[deleteRequest, rest.NoContent]{
			ID: "deleteGroupRule", Route: "DELETE /api/v1/groups/rules/{ruleId}", Tag: tag, Scopes: writeScope, Status: http.StatusAccepted,
			Summary: "Deletes a group rule that is not active", Find: lookup.In(s.Store, s.find, (*deleteRequest).self), Do: s.delete,
		},
		rest.Op[lifecycleRequest, rest.NoContent]{
			ID: "activateGroupRule", Route: "POST /api/v1/groups/rules/{ruleId}/lifecycle/activate", Tag: tag, Scopes: writeScope,
			Summary:     "Activates a group rule",
			Description: "The response follows after the rule was applied to all users that are neither STAGED nor DEPROVISIONED.",
			Find:        lookup.In(s.Store, s.find, (*lifecycleRequest).self), Do: s.activate,
		},
		rest.Op[lifecycleRequest, rest.NoContent]{
			ID: "deactivateGroupRule", Route: "POST /api/v1/groups/rules/{ruleId}/lifecycle/deactivate", Tag: tag, Scopes: writeScope,
			Summary: "Deactivates a group rule without removing the members that it added",
			Find:    lookup.In(s.Store, s.find, (*lifecycleRequest).self),
			Do:      s.deactivate,
		},
	}
}

// target is the rule that a path names.
type target struct {
	Rule string `path:"ruleId" doc:"Id of the group rule."`

	found docstore.Doc[model.GroupRule]
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	t.found, err = s.GroupRules.Get(ctx, q, t.Rule)
	return rest.Missing(err, "GroupRule", t.Rule)
}

// log writes a system log entry about a rule and the other targets.
func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, rule docstore.Doc[model.GroupRule],
	others ...model.LogParty) error {
	targets := append([]model.LogParty{audit.GroupRule(rule)}, others...)
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: targets})
}

type lifecycleRequest struct{ target }

func (s *Slice) activate(ctx context.Context, r *lifecycleRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		changed, err := s.setStatus(ctx, tx, r, model.RuleActive, audit.RuleActivate)
		if err != nil || !changed {
			return err
		}
		return s.applyToAll(ctx, tx, r.found.ID)
	})
}

func (s *Slice) deactivate(ctx context.Context, r *lifecycleRequest) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		_, err := s.setStatus(ctx, tx, r, model.RuleInactive, audit.RuleDeactivate)
		return err
	})
}

// setStatus sets the status of a rule and reports whether it changed. It returns an error for a rule that is INVALID.
func (s *Slice) setStatus(ctx context.Context, tx *docstore.Tx, r *lifecycleRequest, status model.GroupRuleStatus, event audit.Type) (bool,
	error) {
	if err := s.find(ctx, tx, &r.target); err != nil || r.found.Value.Status == status {
		return false, err
	}
	if r.found.Value.Status == model.RuleInvalid {
		return false, rest.Fail(rest.CodeState, "status: The rule is INVALID")
	}
	rule := r.found.Value
	if status == model.RuleActive { // a group may have received a role since the rule was created
		if err := authz.CheckAddAnyUser(ctx, rule.Groups); err != nil {
			return false, err
		}
		var causes rest.Causes
		for _, group := range rule.Groups {
			if err := s.checkRoles(ctx, tx, group, "actions.assignUserToGroups.groupIds", &causes); err != nil {
				return false, err
			}
		}
		if err := causes.Err(); err != nil {
			return false, err
		}
	}
	rule.Status = status
	doc, err := s.GroupRules.Update(ctx, tx, r.found.ID, r.found.Rev, rule)
	if err != nil {
		return false, err
	}
	return true, s.log(ctx, tx, event, doc)
}
