package usertypes

import (
	"context"
	"regexp"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// MaxTypes is the maximum number of user types, including the default one.
const MaxTypes = 10

var namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// body is the body of a request. Read-only members are ignored, so that a client can send back a type as it was read.
type body struct {
	Name        string  `json:"name" empty:"absent" max:"100" doc:"Name of the type: a letter, then letters, digits and underscores."`
	DisplayName string  `json:"displayName" empty:"absent" max:"255" doc:"Human-readable name of the type."`
	Description *string `json:"description" max:"1024" doc:"Purpose of the type."`
}

// check records errors in a body that must have all names.
func (b *body) check(causes *rest.Causes) {
	if b.Name == "" {
		causes.Blank("name")
	}
	if b.DisplayName == "" {
		causes.Blank("displayName")
	}
	b.checkNames(causes)
}

// checkNames records errors in the names that are present.
func (b *body) checkNames(causes *rest.Causes) {
	if b.DisplayName != "" && strings.TrimSpace(b.DisplayName) == "" {
		causes.Blank("displayName")
	}
	if b.Name != "" && !namePattern.MatchString(b.Name) {
		causes.Add("name", "The value must be a letter, followed by letters, digits and underscores")
	}
}

// apply sets the members of a user type that the body has.
func (b *body) apply(t *model.UserType) {
	if b.Name != "" {
		t.Name = b.Name
	}
	if b.DisplayName != "" {
		t.DisplayName = b.DisplayName
	}
	if b.Description != nil {
		t.Description = *b.Description
	}
}

type createRequest struct {
	Body body `body:"required"`
}

// checkCreate checks the names.
func checkCreate(_ context.Context, r *createRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	return nil
}

func (s *Slice) create(ctx context.Context, r *createRequest) (UserType, error) {
	caller := rest.Caller(ctx).UserID
	value := model.UserType{CreatedBy: caller, UpdatedBy: caller}
	r.Body.apply(&value)
	id := model.NewID(model.KindUserType)
	var out UserType
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		org, err := s.Org(ctx, tx)
		if err != nil {
			return err
		}
		n, err := s.UserTypes.Count(ctx, tx, nil)
		if err != nil {
			return err
		}
		if n >= MaxTypes {
			return rest.Invalid("name", "There can be at most %d user types", MaxTypes)
		}
		if err := s.InsertUserType(ctx, tx, id, value); err != nil {
			return err
		}
		if err := s.CompleteAllMappings(ctx, tx); err != nil {
			return err
		}
		if err := s.log(ctx, tx, audit.UserTypeCreate, id, &value); err != nil {
			return err
		}
		doc, err := s.UserTypes.Get(ctx, tx, id)
		out = s.render(ctx, org, doc)
		return err
	})
	return out, err
}

type updateRequest struct {
	target
	Body body `body:"required"`
}

// checkUpdate checks the name.
func checkUpdate(_ context.Context, r *updateRequest, causes *rest.Causes) error {
	r.Body.checkNames(causes)
	r.checkDefault(&r.Body, causes)
	return nil
}

func (s *Slice) update(ctx context.Context, r *updateRequest) (UserType, error) {
	return s.write(ctx, &r.target, &r.Body)
}

type replaceRequest struct {
	target
	Body body `body:"required"`
}

// checkReplace checks the names.
func checkReplace(_ context.Context, r *replaceRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	r.checkDefault(&r.Body, causes)
	return nil
}

// checkDefault rejects a new name for the default type.
func (t *target) checkDefault(b *body, causes *rest.Causes) {
	if t.found.Value.Default && b.Name != "" && b.Name != t.found.Value.Name {
		causes.Add("name", "The name of the default user type cannot be changed")
	}
}

func (s *Slice) replace(ctx context.Context, r *replaceRequest) (UserType, error) {
	if r.Body.Description == nil {
		r.Body.Description = new("")
	}
	return s.write(ctx, &r.target, &r.Body)
}

func (s *Slice) write(ctx context.Context, t *target, given *body) (UserType, error) {
	var out UserType
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		value := t.found.Value
		given.apply(&value)
		value.UpdatedBy = rest.Caller(ctx).UserID
		doc, err := s.UserTypes.Update(ctx, tx, t.found.ID, t.found.Rev, value)
		if err != nil {
			return err
		}
		out = s.render(ctx, t.org, doc)
		return s.log(ctx, tx, audit.UserSchemaUpdate, doc.ID, &value)
	})
	return out, err
}

func (s *Slice) delete(ctx context.Context, t *target) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		if t.found.Value.Default {
			return rest.Fail(rest.CodeUserType, "reason: PROHIBITED")
		}
		users, err := s.Users.Query(ctx, tx, docstore.Query[model.User]{Where: docstore.Eq(model.UserByType, t.found.ID), Limit: 1})
		if err != nil {
			return err
		}
		if len(users.Docs) > 0 {
			return rest.Fail(rest.CodeUserType, "reason: UNMET_REQUIREMENTS")
		}
		if err := s.UserTypes.Delete(ctx, tx, t.found.ID); err != nil {
			return err
		}
		if err := s.UserSchemas.Delete(ctx, tx, model.UserSchemaID(t.found.ID)); err != nil {
			return err
		}
		if _, err := s.Mappings.DeleteWhere(ctx, tx, docstore.Eq(model.MappingByType, t.found.ID)); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.UserSchemaUpdate, t.found.ID, &t.found.Value)
	})
	return rest.NoContent{}, audit.Refused(ctx, s.Deps,
		audit.Entry{Type: audit.UserSchemaUpdate, Targets: []model.LogParty{audit.UserType(t.found.ID, &t.found.Value)}}, err)
}

// log writes a system log entry about a user type.
func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, id string, t *model.UserType) error {
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.UserType(id, t)}})
}
