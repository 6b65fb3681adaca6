package users

import (
	"context"
	"encoding/json"

	"github.com/scimwright/scimwright/internal/openapi"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

type expireRequest struct {
	target
	TempPassword bool `query:"tempPassword" default:"false" doc:"Whether to set a temporary password, which the response contains."`
	Revoke       bool `query:"revokeSessions" default:"false" doc:"Ends all sessions of the user."`
}

type expireTemporaryRequest struct {
	target
	Revoke bool `query:"revokeSessions" default:"false" doc:"Ends all sessions of the user."`
}

// ExpiredPassword is the response to an expiration: the user, or the temporary password.
type ExpiredPassword struct {
	user      *User
	temporary string
}

// MarshalJSON writes the user or the temporary password, whichever is set.
func (p ExpiredPassword) MarshalJSON() ([]byte, error) {
	if p.user != nil {
		return json.Marshal(p.user)
	}
	return json.Marshal(TemporaryPassword{Value: p.temporary})
}

// OpenAPISchema describes both forms, which have no member in common.
func (ExpiredPassword) OpenAPISchema() *openapi.Schema {
	schema := openapi.Object(map[string]*openapi.Schema{
		"tempPassword": openapi.String(), "id": openapi.String(), "status": openapi.String(),
	})
	schema.Description = "The user, or only the temporary password."
	schema.AdditionalProperties = true
	return schema
}

// TemporaryPassword is a generated password, which is shown once.
type TemporaryPassword struct {
	Value string `json:"tempPassword" readOnly:"true" doc:"The password, to be changed at the next sign-in."`
}

func (s *Slice) expirePassword() rest.Route {
	return rest.Op[expireRequest, ExpiredPassword]{
		ID: "expirePassword", Route: expirePassword.route(), Tag: tag, Scopes: writeScope, Summary: expirePassword.summary,
		Find: callers.FoundUser(s.Deps, (*expireRequest).at),
		Do: func(ctx context.Context, r *expireRequest) (ExpiredPassword, error) {
			if r.TempPassword {
				temporary, err := s.expireTemporarily(ctx, &r.target, r.Revoke)
				return ExpiredPassword{temporary: temporary.Value}, err
			}
			doc, err := s.expire(ctx, &r.target, nil, r.Revoke)
			if err != nil {
				return ExpiredPassword{}, err
			}
			user, err := s.single(ctx, s.Store.Reader(), doc)
			return ExpiredPassword{user: &user}, err
		},
	}
}

func (s *Slice) expireWithTemporary() rest.Route {
	return rest.Op[expireTemporaryRequest, TemporaryPassword]{
		ID: "expirePasswordWithTempPassword", Route: expirePassword.route() + "_with_temp_password", Tag: tag, Scopes: writeScope,
		Summary: "Sets a temporary password, which the user must change at the next sign-in",
		Find:    callers.FoundUser(s.Deps, (*expireTemporaryRequest).at),
		Do: func(ctx context.Context, r *expireTemporaryRequest) (TemporaryPassword, error) {
			return s.expireTemporarily(ctx, &r.target, r.Revoke)
		},
	}
}

// expireTemporarily sets a generated password and expires it.
func (s *Slice) expireTemporarily(ctx context.Context, at *target, revoke bool) (TemporaryPassword, error) {
	policy, err := s.PasswordPolicy(ctx, s.Store.Reader())
	if err != nil {
		return TemporaryPassword{}, err
	}
	enroll, err := s.PasswordEnrollment(ctx, s.Store.Reader())
	if err != nil {
		return TemporaryPassword{}, err
	}
	if enroll != model.PasswordRequired { // unless the policy requires passwords, administrators cannot set them
		return TemporaryPassword{}, rest.Fail(rest.CodeStatus)
	}
	value := password.Temporary(&policy, at.found.Value.Profile)
	hash, err := s.hasher.Hash(value)
	if err != nil {
		return TemporaryPassword{}, err
	}
	if _, err := s.expire(ctx, at, &temporary{policy: policy, hash: hash, value: value}, revoke); err != nil {
		return TemporaryPassword{}, err
	}
	return TemporaryPassword{Value: value}, nil
}

// temporary is a generated password.
type temporary struct {
	policy      model.PasswordSettings
	hash, value string
}

// expire makes the user change the password at the next sign-in. If made is not nil, expire first sets this temporary password. With
// revoke, it ends the sessions of the user.
func (s *Slice) expire(ctx context.Context, at *target, made *temporary, revoke bool) (doc docstore.Doc[model.User], err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.keepAdministrator(ctx, tx, at.found.ID); err != nil {
			return err
		}
		doc, err = s.enter(ctx, tx, at, expirePassword, func(_ model.UserStatus, u *model.User) {
			if u.Reset = nil; made != nil {
				password.Set(&made.policy, u, made.hash, s.Now())
			}
		})
		if err == nil && revoke {
			err = s.endSessions(ctx, tx, doc)
		}
		if err != nil || made == nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.PasswordKnown{User: doc.ID, Set: true, Plain: made.value})
	})
	return doc, err
}
