package model

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// Model is the set of collections.
type Model struct {
	Orgs          docstore.Collection[Org]
	Users         docstore.Collection[User]
	Groups        docstore.Collection[Group]
	Memberships   docstore.Collection[Membership]
	APITokens     docstore.Collection[APIToken]
	Apps          docstore.Collection[App]
	AppUsers      docstore.Collection[AppUser]
	AppGroups     docstore.Collection[AppGroup]
	Connections   docstore.Collection[Connection]
	PushMappings  docstore.Collection[PushMapping]
	LogEvents     docstore.Collection[LogEvent]
	GroupOwners   docstore.Collection[GroupOwner]
	GroupRules    docstore.Collection[GroupRule]
	RuleMembers   docstore.Collection[RuleMember]
	SignIns       docstore.Collection[SignIn]
	UserTypes     docstore.Collection[UserType]
	UserSchemas   docstore.Collection[UserSchema]
	Messages      docstore.Collection[Message]
	OrgPolicies   docstore.Collection[OrgPolicy]
	SyncPasswords docstore.Collection[SyncPassword]
	AppKeys       docstore.Collection[AppKey]
	AppGrants     docstore.Collection[AppGrant]

	AuthServers   docstore.Collection[AuthServer]
	KeyRings      docstore.Collection[KeyRing]
	AuthKeys      docstore.Collection[AuthKey]
	RefreshTokens docstore.Collection[RefreshToken]
	Consents      docstore.Collection[Consent]
	UsedTokens    docstore.Collection[UsedToken]
	Sessions      docstore.Collection[Session]
	Transitions   docstore.Collection[Transition]
	AppSchemas    docstore.Collection[AppSchema]
	GroupSchemas  docstore.Collection[GroupSchema]
	Mappings      docstore.Collection[Mapping]
	Followings    docstore.Collection[PendingResync]
	Attempts      docstore.Collection[Attempts]

	RoleAssignments docstore.Collection[RoleAssignment]
	CustomRoles     docstore.Collection[CustomRole]
	ResourceSets    docstore.Collection[ResourceSet]
	SetResources    docstore.Collection[SetResource]
	RoleMembers     docstore.Collection[RoleMember]
	HookKeys        docstore.Collection[HookKey]
	InlineHooks     docstore.Collection[InlineHook]

	HardwareTokens     docstore.Collection[HardwareToken]
	Factors            docstore.Collection[Factor]
	OrgFactors         docstore.Collection[OrgFactor]
	FactorTransactions docstore.Collection[FactorTransaction]
	FactorWindows      docstore.Collection[FactorWindow]
	ImportJobs         docstore.Collection[ImportJob]
	ImportDecisions    docstore.Collection[ImportDecision]
	DueImports         docstore.Collection[DueImport]
	SMSTemplates       docstore.Collection[SMSTemplate]

	RateWindows docstore.Windows
}

// New declares the collections.
func New() *Model {
	return &Model{
		Orgs:          orgCollection(),
		Users:         userCollection(),
		Groups:        groupCollection(),
		Memberships:   membershipCollection(),
		APITokens:     apiTokenCollection(),
		Apps:          appCollection(),
		AppUsers:      appUserCollection(),
		AppGroups:     appGroupCollection(),
		Connections:   connectionCollection(),
		PushMappings:  pushMappingCollection(),
		LogEvents:     logEventCollection(),
		GroupOwners:   groupOwnerCollection(),
		GroupRules:    groupRuleCollection(),
		RuleMembers:   ruleMemberCollection(),
		SignIns:       signInCollection(),
		UserTypes:     userTypeCollection(),
		UserSchemas:   userSchemaCollection(),
		Messages:      messageCollection(),
		OrgPolicies:   orgPolicyCollection(),
		SyncPasswords: syncPasswordCollection(),
		AppKeys:       appKeyCollection(),
		AppGrants:     appGrantCollection(),

		AuthServers:   authServerCollection(),
		KeyRings:      keyRingCollection(),
		AuthKeys:      authKeyCollection(),
		RefreshTokens: refreshTokenCollection(),
		Consents:      consentCollection(),
		UsedTokens:    spentCollection(),
		Sessions:      sessionCollection(),
		Transitions:   transitionCollection(),
		AppSchemas:    appSchemaCollection(),
		GroupSchemas:  groupSchemaCollection(),
		Mappings:      mappingCollection(),
		Followings:    followingCollection(),
		Attempts:      attemptsCollection(),

		RoleAssignments: roleAssignmentCollection(),
		CustomRoles:     customRoleCollection(),
		ResourceSets:    resourceSetCollection(),
		SetResources:    setResourceCollection(),
		RoleMembers:     roleMemberCollection(),
		HookKeys:        hookKeyCollection(),
		InlineHooks:     inlineHookCollection(),

		HardwareTokens:     hardwareTokenCollection(),
		Factors:            factorCollection(),
		OrgFactors:         orgFactorCollection(),
		FactorTransactions: factorTransactionCollection(),
		FactorWindows:      factorWindowCollection(),
		ImportJobs:         importJobCollection(),
		ImportDecisions:    importDecisionCollection(),
		DueImports:         dueImportCollection(),
		SMSTemplates:       smsTemplateCollection(),

		RateWindows: docstore.NewWindows("rate_windows"),
	}
}

// Tables lists the collections for docstore.Open.
func (m *Model) Tables() []docstore.Table {
	return []docstore.Table{
		m.Orgs, m.Users, m.Groups, m.Memberships, m.APITokens, m.Apps, m.AppUsers, m.AppGroups,
		m.Connections, m.PushMappings, m.LogEvents, m.GroupOwners, m.GroupRules, m.RuleMembers, m.SignIns, m.UserTypes,
		m.UserSchemas, m.Messages, m.OrgPolicies, m.SyncPasswords, m.Sessions, m.Transitions, m.AppSchemas, m.GroupSchemas,
		m.Mappings, m.Followings, m.Attempts, m.AppKeys, m.AppGrants, m.RoleAssignments, m.CustomRoles, m.ResourceSets,
		m.SetResources, m.RoleMembers, m.AuthServers, m.KeyRings, m.AuthKeys, m.RefreshTokens, m.Consents, m.UsedTokens,
		m.HookKeys, m.InlineHooks, m.HardwareTokens, m.Factors, m.OrgFactors, m.FactorTransactions, m.FactorWindows, m.ImportJobs,
		m.ImportDecisions, m.DueImports, m.SMSTemplates, m.RateWindows,
	}
}

// Deps holds the dependencies that all slices share.
type Deps struct {
	*Model
	Store *docstore.Store
	Feed  *Feed
	Now   func() time.Time
	// OptionalPassword allows the enrollment policy to make passwords optional, see PasswordEnrollment.
	OptionalPassword bool
}

// Org is the organization. A database has exactly one.
type Org struct {
	ID            string `json:"id"`
	Administrator string `json:"administrator"` // id of the built-in administrator
	Everyone      string `json:"everyone"`      // id of the built-in group
	UserType      string `json:"userType"`      // id of the default user type

	// HoldWork postpones the work that can run after the response to a request, see assembly.API.Work.
	HoldWork bool `json:"holdWork,omitempty"`
}

// OrgDocument is the id of the only document of the collection Orgs.
const OrgDocument = "org"

func orgCollection() docstore.Collection[Org] { return docstore.NewCollection[Org]("orgs").Cached() }

// Org reads the organization.
func (d Deps) Org(ctx context.Context, q docstore.Reader) (Org, error) {
	doc, err := d.Orgs.Get(ctx, q, OrgDocument)
	if err != nil {
		return Org{}, fmt.Errorf("organization: %w", err)
	}
	return doc.Value, nil
}

// optional returns the index values of a document for a string: the string, or no value if the string is empty.
func optional(text string) []any {
	if text == "" {
		return nil
	}
	return []any{text}
}
