package authz

import (
	"maps"
	"slices"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// The permissions that decisions use.
const (
	UsersManage            = "svc.users.manage"
	UsersRead              = "svc.users.read"
	UsersCreate            = "svc.users.create"
	UsersCredentials       = "svc.users.credentials.manage"
	UsersResetFactors      = "svc.users.credentials.resetFactors"
	UsersResetPassword     = "svc.users.credentials.resetPassword" //nolint:gosec // a name
	UsersExpirePassword    = "svc.users.credentials.expirePassword"
	UsersProfile           = "svc.users.userprofile.manage"
	UsersLifecycle         = "svc.users.lifecycle.manage"
	UsersActivate          = "svc.users.lifecycle.activate"
	UsersDeactivate        = "svc.users.lifecycle.deactivate"
	UsersSuspend           = "svc.users.lifecycle.suspend"
	UsersUnsuspend         = "svc.users.lifecycle.unsuspend"
	UsersDelete            = "svc.users.lifecycle.delete"
	UsersUnlock            = "svc.users.lifecycle.unlock"
	UsersClearSessions     = "svc.users.lifecycle.clearSessions"
	UsersMembership        = "svc.users.groupMembership.manage"
	UsersAppAssignment     = "svc.users.appAssignment.manage"
	UsersTokensManage      = "svc.users.apitokens.manage"
	UsersTokensRead        = "svc.users.apitokens.read"
	GroupsManage           = "svc.groups.manage"
	GroupsCreate           = "svc.groups.create"
	GroupsMembers          = "svc.groups.members.manage"
	GroupsRead             = "svc.groups.read"
	GroupsAppAssignment    = "svc.groups.appAssignment.manage"
	AppsManage             = "svc.apps.manage"
	AppsRead               = "svc.apps.read"
	AppsAssignment         = "svc.apps.assignment.manage"
	ServersManage          = "svc.authzServers.manage"
	ServersRead            = "svc.authzServers.read"
	IAMRead                = "svc.iam.read"
	customizationsManage   = "svc.customizations.manage"
	customizationsRead     = "svc.customizations.read"
	identityProviders      = "svc.identityProviders.manage"
	identityProvidersRead  = "svc.identityProviders.read"
	directoriesManage      = "svc.directories.manage"
	directoriesRead        = "svc.directories.read"
	agentsManage           = "svc.agents.manage"
	agentsRegister         = "svc.agents.register"
	agentsView             = "svc.agents.view"
	devicesManage          = "svc.devices.manage"
	devicesLifecycle       = "svc.devices.lifecycle.manage"
	devicesRead            = "svc.devices.read"
	devicesLifecyclePrefix = "svc.devices.lifecycle."
)

// implied lists the permissions that a permission implies directly. Implication is transitive.
var implied = map[string][]string{
	UsersManage: {
		UsersCreate, UsersCredentials, UsersProfile, UsersLifecycle, UsersMembership, UsersAppAssignment,
	},
	UsersCredentials: {UsersResetFactors, UsersResetPassword, UsersExpirePassword, UsersRead},
	UsersProfile:     {UsersRead},
	UsersLifecycle: {UsersActivate, UsersDeactivate, UsersSuspend, UsersUnsuspend, UsersDelete, UsersUnlock, UsersClearSessions,
		UsersRead},
	UsersMembership:      {UsersRead},
	UsersAppAssignment:   {UsersRead},
	UsersTokensManage:    {UsersTokensRead},
	GroupsManage:         {GroupsCreate, GroupsMembers, GroupsAppAssignment},
	GroupsMembers:        {GroupsRead},
	GroupsAppAssignment:  {GroupsRead},
	AppsManage:           {AppsAssignment},
	AppsAssignment:       {AppsRead},
	ServersManage:        {ServersRead},
	customizationsManage: {customizationsRead},
	identityProviders:    {identityProvidersRead},
	directoriesManage:    {directoriesRead},
	agentsManage:         {agentsRegister, agentsView},
	devicesManage:        {devicesLifecycle},
	devicesLifecycle: {
		devicesLifecyclePrefix + "activate", devicesLifecyclePrefix + "deactivate", devicesLifecyclePrefix + "suspend",
		devicesLifecyclePrefix + "unsuspend", devicesLifecyclePrefix + "delete", devicesRead,
	},
}

// alone are permissions that imply no other permission and are implied by none.
var alone = []string{
	UsersTokensManage, IAMRead, "svc.profilesources.import.run", "svc.workflows.read", "svc.workflows.invoke",
}

// reserved are permissions that only standard roles have.
var reserved = []string{
	"svc.governance.accessCertifications.manage", "svc.governance.accessRequests.manage", "svc.apps.manageFirstPartyApps",
}

// Permissions returns the permissions that a custom role can have, by name.
func Permissions() []string {
	all := map[string]bool{}
	for _, name := range alone {
		all[name] = true
	}
	for name, others := range implied {
		all[name] = true
		for _, other := range others {
			all[other] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// KnownPermission reports whether a custom role can have the permission.
func KnownPermission(name string) bool { return slices.Contains(Permissions(), name) }

// ReservedPermission reports whether only standard roles have the permission.
func ReservedPermission(name string) bool { return slices.Contains(reserved, name) }

// Conditional reports whether a permission can have conditions.
func Conditional(name string) bool { return name == UsersRead || name == UsersProfile }

// permissions maps the permissions of a custom role, held or implied, to their conditions. A nil value means no conditions.
type permissions map[string]*model.PermissionConditions

// compile returns the effective permissions of a role. A permission that the role holds has its own conditions, even if another permission
// implies it without conditions: attributes excluded from one permission must not reappear through another.
func compile(role *model.CustomRole) permissions {
	out := permissions{}
	var add func(name string, conditions *model.PermissionConditions)
	add = func(name string, conditions *model.PermissionConditions) {
		if have, ok := out[name]; !ok || have != nil && conditions == nil {
			out[name] = conditions
		}
		for _, other := range implied[name] {
			if other == UsersRead && name == UsersProfile {
				add(other, conditions)
			} else {
				add(other, nil)
			}
		}
	}
	for _, p := range role.Permissions {
		add(p.Name, p.Conditions)
	}
	for _, p := range role.Permissions {
		out[p.Name] = p.Conditions
	}
	return out
}

// always are the attributes that no condition hides or forbids.
var always = []string{"login", "email", "firstName", "lastName", "mobilePhone"}

// permit reports whether the conditions permit an attribute.
func permit(c *model.PermissionConditions, attribute string) bool {
	return c == nil || slices.Contains(always, attribute) || slices.Contains(c.Attributes, attribute) != c.Exclude
}

// kindOf returns the kind of resource that the resource set must contain for a permission in an operation on a resource of the given kind.
// It is the same kind, except that the permission to create users requires the group of the new user.
func kindOf(permission string, kind Kind) Kind {
	if kind == KindUser && permission == UsersCreate {
		return KindGroup
	}
	return kind
}
