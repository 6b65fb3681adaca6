package users

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// MaxGroups is the maximum number of groups that a new user can join.
const MaxGroups = 20

const changePassword = "changePassword"

type createRequest struct {
	Activate  bool       `query:"activate" default:"true" doc:"Activate the user. The status is PROVISIONED if a required password is absent."`
	Provider  bool       `query:"provider" default:"false" doc:"Must be true if the body has the provider FEDERATION or SOCIAL."`
	NextLogin string     `query:"nextLogin" enum:"changePassword" doc:"changePassword: The user must change the password at the next sign-in."`
	Body      CreateUser `body:"required"`

	guessed *basis                          // result of guess
	schema  *docstore.Doc[model.UserSchema] // the schema against which the profile was validated
	enroll  model.PasswordEnrollment
}

// basis holds the documents that apply to a new user. The Slice caches the basis of the last user created without a type.
type basis struct {
	org      model.Org
	schema   *docstore.Doc[model.UserSchema]
	versions []docstore.Version // the versions of the documents of org and schema
}

// CreateUser is the body of a new user.
type CreateUser struct {
	Profile     Profile           `json:"profile" doc:"Attributes of the user."`
	Credentials *CredentialsInput `json:"credentials" doc:"Credentials of the user."`
	Type        *Type             `json:"type" doc:"User type. Default: the default user type."`
	GroupIDs    []string          `json:"groupIds" doc:"Groups the user becomes a member of, at most 20."`
}

// provider returns the provider in the body, or the default one.
func (r *createRequest) provider() model.ProviderType {
	if c := r.Body.Credentials; c != nil && c.Provider != nil && c.Provider.Type != "" {
		return model.ProviderType(c.Provider.Type)
	}
	return model.ProviderService
}

// checkCreate validates profile and credentials. The error for an unknown user type becomes the response only if causes is empty.
func (s *Slice) checkCreate(ctx context.Context, r *createRequest, causes *rest.Causes) error {
	profile := merge(nil, r.Body.Profile)
	checkNulls(r.Body.Profile, causes)
	var unknown error
	if r.guessed = s.guess(r.Body.Type, profile); r.guessed != nil {
		r.schema = r.guessed.schema
	} else if r.schema, unknown = s.schemaFor(ctx, s.Store.Reader(), r.Body.Type, ""); unknown == nil {
		checkProfile(&r.schema.Value, profile, causes)
	}
	provider := r.provider()
	policy, err := s.policyFor(ctx, r.Body.Credentials)
	if err != nil {
		return cmp.Or(unknown, err)
	}
	r.Body.Credentials.check(&policy, profile, provider, causes)
	if r.enroll, err = s.PasswordEnrollment(ctx, s.Store.Reader()); err != nil {
		return cmp.Or(unknown, err)
	}
	r.Body.Credentials.checkEnrollment(r.enroll, causes)
	switch provider {
	case model.ProviderFederation, model.ProviderSocial:
		if !r.Provider {
			causes.Add("provider", "The provider %s requires provider=true", provider)
		}
	case model.ProviderImport:
		causes.Add("provider", "The provider %s cannot be set", provider)
	}
	return unknown
}

// guess returns the cached basis. It returns nil if no basis is cached, if the request names a type, or if the profile is invalid under the
// cached schema. The cached basis may be outdated: basisFor checks that in the transaction.
func (s *Slice) guess(given *Type, profile map[string]any) *basis {
	last := s.lastBasis.Load()
	if last == nil || given != nil {
		return nil
	}
	var causes rest.Causes
	checkProfile(&last.schema.Value, profile, &causes)
	if causes.Err() != nil {
		return nil
	}
	return last
}

// basisFor returns the result of guess if that is still current, and otherwise reads the basis.
func (s *Slice) basisFor(ctx context.Context, tx *docstore.Tx, guess *basis, given *Type) (*basis, error) {
	if guess != nil {
		if current, err := docstore.Current(ctx, tx, guess.versions...); err != nil || current {
			return guess, err
		}
	}
	org, err := s.Orgs.Get(ctx, tx, model.OrgDocument)
	if err != nil {
		return nil, err
	}
	schema, err := s.schemaFor(ctx, tx, given, org.Value.UserType)
	if err != nil {
		return nil, err
	}
	return &basis{org.Value, schema, []docstore.Version{s.Orgs.Version(org), s.UserSchemas.Version(*schema)}}, nil
}

// checkCombination rejects combinations of parameters that are invalid together. Each combination has its own error code.
func (r *createRequest) checkCombination() error {
	_, given := r.Body.Credentials.password()
	switch {
	case len(r.Body.GroupIDs) > MaxGroups:
		return rest.Failf(rest.CodeTooMany, "A new user can join at most %d groups.", MaxGroups)
	case r.NextLogin == changePassword && !r.Activate:
		return rest.Fail(rest.CodeNotActivated)
	case r.NextLogin == changePassword && !given:
		return rest.Fail(rest.CodeNoPassword)
	}
	return nil
}

func (s *Slice) create(ctx context.Context, r *createRequest) (User, error) {
	if err := r.checkCombination(); err != nil {
		return User{}, err
	}
	user := model.User{
		Status: model.UserStaged, Provider: r.provider(), Profile: merge(nil, r.Body.Profile),
	}
	if err := model.CheckSize(nil, user.Profile); err != nil {
		return User{}, err
	}
	secrets, err := s.hashSecrets(ctx, r.Body.Credentials)
	if err != nil {
		return User{}, err
	}
	now := s.Now()
	secrets.set(&user, now)
	if r.Activate {
		user.Activated = now
		user.Enter(activeStatus(&user, r.enroll), now)
	}
	if r.NextLogin == changePassword {
		user.Enter(model.UserPasswordExpired, now)
	}
	var activation Activation
	if user.Status == model.UserProvisioned {
		activation, user.Activation = s.issueActivation(ctx)
	}
	id, draft := model.NewID(model.KindUser), s.draft(r.schema, user)
	var doc docstore.Doc[model.User]
	var basis *basis
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := authz.CreateUser(ctx, tx, s.Deps, r.Body.GroupIDs); err != nil {
			return err
		}
		// the transaction starts in another second than the check, and the API shows times in seconds: set the times again
		if created := tx.Now(); !created.Truncate(time.Second).Equal(now.Truncate(time.Second)) {
			now = created
			stamp(&user, created)
			draft = s.draft(r.schema, user)
		}
		var err error
		if basis, err = s.basisFor(ctx, tx, r.guessed, r.Body.Type); err != nil {
			return err
		}
		if schema := basis.schema; draft.schema.ID != schema.ID || draft.schema.Rev != schema.Rev { // the schema has changed since the check
			var causes rest.Causes
			checkProfile(&schema.Value, user.Profile, &causes)
			if err := causes.Err(); err != nil {
				return err
			}
			draft = s.draft(schema, user)
		}
		if draft.err != nil {
			return draft.err
		}
		if err := s.unique(ctx, tx, id, &draft.user); err != nil {
			return err
		}
		if doc, err = docstore.InsertPrepared(ctx, s.Users, tx, id, draft.prepared); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, s.Deps, createEntries(doc)...); err != nil {
			return err
		}
		if user.Status == model.UserProvisioned {
			if err := s.mailActivation(ctx, tx, doc, activation); err != nil {
				return err
			}
		}
		if err := s.created(ctx, tx, id, user.Status, r.Body.GroupIDs, basis.org.Everyone); err != nil {
			return err
		}
		return s.passwordSet(ctx, tx, id, r.Body.Credentials)
	})
	if err != nil {
		return User{}, err
	}
	if r.Body.Type == nil {
		s.lastBasis.Store(basis)
	}
	return s.redactHidden(ctx, s.Store.Reader(), render(ctx, doc)) // render omits the link for factors, which a new user does not have
}

// stamp sets the times of a new user to the time of its creation.
func stamp(u *model.User, created time.Time) {
	for _, at := range []*time.Time{&u.Activated, &u.StatusChanged, &u.PasswordChanged} {
		if !at.IsZero() {
			*at = created
		}
	}
}

// draft is a new user with a valid profile, prepared before the transaction, so that the writer slot is occupied only briefly.
type draft struct {
	schema   *docstore.Doc[model.UserSchema]
	user     model.User
	prepared docstore.Prepared[model.User]
	err      error // why the user is invalid
}

func (s *Slice) draft(schema *docstore.Doc[model.UserSchema], user model.User) draft {
	d := draft{schema: schema, user: user}
	if d.err = checkMutability(&schema.Value, nil, user.Profile); d.err != nil {
		return d
	}
	d.user.Type = schema.Value.Type
	schema.Value.Stamp(&d.user)
	d.prepared, d.err = docstore.Prepare(s.Users, d.user)
	return d
}

// passwordSet emits the event for a password that was sent in plaintext. Without such a password, it does nothing.
func (s *Slice) passwordSet(ctx context.Context, tx *docstore.Tx, user string, c *CredentialsInput) error {
	value, given := c.password()
	if !given {
		return nil
	}
	return s.Feed.Emit(ctx, tx, model.PasswordKnown{User: user, Set: true, Plain: value})
}

// createEntries returns the log entries for a new user.
func createEntries(doc docstore.Doc[model.User]) []audit.Entry {
	user := []model.LogParty{audit.User(doc)}
	entries := []audit.Entry{{Type: audit.UserCreate, Targets: user}}
	if doc.Value.Status != model.UserStaged {
		entries = append(entries, audit.Entry{Type: audit.UserActivate, Targets: user})
	}
	return entries
}

// created adds a new user to its groups, Everyone first, and emits the events.
func (s *Slice) created(ctx context.Context, tx *docstore.Tx, id string, status model.UserStatus, groups []string, everyone string) error {
	if err := s.Feed.Emit(ctx, tx, model.UserChanged{ID: id, New: true}); err != nil {
		return err
	}
	for i, group := range append([]string{everyone}, groups...) {
		doc, err := s.groupToJoin(ctx, tx, group, everyone)
		if errors.Is(err, docstore.ErrNotFound) {
			return rest.NotFound("UserGroup", group)
		}
		if err != nil {
			return err
		}
		if doc.Value.Protected() && group != everyone {
			return rest.Failf(rest.CodeUnsupported, "The members of the group %s cannot be edited.", group)
		}
		if i == 0 {
			err = s.Admit(ctx, tx, doc, id)
		} else {
			err = s.Join(ctx, tx, group, id) // a group rule may have added the user already
		}
		if err != nil {
			return err
		}
	}
	if status == model.UserStaged {
		return nil
	}
	return s.Feed.Emit(ctx, tx, model.UserActivated{ID: id, New: true})
}

// groupToJoin reads a group. It returns Everyone from the cache if the group need not be written: a new member changes only
// LastMembershipUpdated, which has a resolution of one second. If a new second starts or another process has written the group, the
// transaction is retried.
func (s *Slice) groupToJoin(ctx context.Context, tx *docstore.Tx, group, everyone string) (docstore.Doc[model.Group], error) {
	if group != everyone {
		return s.Groups.Get(ctx, tx, group)
	}
	if known := s.lastEveryone.Load(); known != nil && known.ID == everyone &&
		!s.Now().Truncate(time.Second).After(known.Value.LastMembershipUpdated) {
		return *known, nil
	}
	doc, err := s.Groups.Get(ctx, tx, everyone)
	if err == nil {
		tx.AfterCommit(func() { s.lastEveryone.Store(&doc) })
	}
	return doc, err
}

// activeStatus returns the status of an activated user. It is PROVISIONED for a user without a password if a password is required.
// Otherwise users without a password sign in by email.
func activeStatus(u *model.User, enroll model.PasswordEnrollment) model.UserStatus {
	if !u.HasPassword() && u.Provider == model.ProviderService && enroll == model.PasswordRequired {
		return model.UserProvisioned
	}
	return model.UserActive
}

// secrets holds hashed credentials.
type secrets struct {
	policy   model.PasswordSettings
	password string
	imported *model.ImportedHash
	recovery *model.Recovery
}

// hashSecrets hashes credentials. Hashing is slow by design, so callers do it before they start a transaction.
func (s *Slice) hashSecrets(ctx context.Context, c *CredentialsInput) (out secrets, err error) {
	if out.policy, err = s.policyFor(ctx, c); err != nil {
		return out, err
	}
	if value, ok := c.password(); ok {
		if out.password, err = s.hasher.Hash(value); err != nil {
			return out, err
		}
	}
	if hash := c.imported(); hash != nil {
		out.imported = hash.stored()
	}
	if c.hooked() {
		out.imported = &model.ImportedHash{Algorithm: model.HookAlgorithm}
	}
	if q := c.recovery(); q != nil {
		answer, err := s.hasher.Hash(password.NormalizeAnswer(q.Answer))
		if err != nil {
			return out, err
		}
		out.recovery = &model.Recovery{Question: q.Question, AnswerHash: answer}
	}
	return out, nil
}

// set copies the credentials that are present to a user.
func (s secrets) set(u *model.User, now time.Time) {
	if s.password != "" {
		password.Set(&s.policy, u, s.password, now)
	}
	if s.imported != nil {
		password.Import(u, s.imported, now)
	}
	if s.recovery != nil {
		u.Recovery = s.recovery
	}
}
