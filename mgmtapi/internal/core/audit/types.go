package audit

import "slices"

// Type is an event type.
type Type string

// The event types.
const (
	UserCreate          Type = "user.lifecycle.create"
	UserActivate        Type = "user.lifecycle.activate"
	UserReactivate      Type = "user.lifecycle.reactivate"
	UserDeactivate      Type = "user.lifecycle.deactivate"
	UserSuspend         Type = "user.lifecycle.suspend"
	UserUnsuspend       Type = "user.lifecycle.unsuspend"
	UserDeleteInitiated Type = "user.lifecycle.delete.initiated"
	UserDeleteCompleted Type = "user.lifecycle.delete.completed"
	UserUpdateProfile   Type = "user.account.update_profile"
	UserUpdatePassword  Type = "user.account.update_password" //nolint:gosec // a name
	UserResetPassword   Type = "user.account.reset_password"  //nolint:gosec // a name
	UserExpirePassword  Type = "user.account.expire_password" //nolint:gosec // a name
	UserImportPassword  Type = "user.import.password"         //nolint:gosec // a name
	UserSessionStart    Type = "user.session.start"
	UserSessionEnd      Type = "user.session.end"
	UserSessionClear    Type = "user.session.clear"
	UserLock            Type = "user.account.lock"
	UserUnlock          Type = "user.account.unlock_by_admin"
	UserAutoUnlock      Type = "user.account.unlock"
	UserUpdateType      Type = "user.account.update_user_type"

	GroupCreate        Type = "group.lifecycle.create"
	GroupUpdate        Type = "group.profile.update"
	GroupDelete        Type = "group.lifecycle.delete"
	GroupMemberAdd     Type = "group.user_membership.add"
	GroupMemberRemove  Type = "group.user_membership.remove"
	RuleTrigger        Type = "group.user_membership.rule.trigger"
	RuleInvalidate     Type = "group.user_membership.rule.invalidate"
	GroupAssignAdd     Type = "group.application_assignment.add"
	GroupAssignUpdate  Type = "group.application_assignment.update"
	GroupAssignRemove  Type = "group.application_assignment.remove"
	AppCreate          Type = "application.lifecycle.create"
	AppUpdate          Type = "application.lifecycle.update"
	AppActivate        Type = "application.lifecycle.activate"
	AppDeactivate      Type = "application.lifecycle.deactivate"
	AppDelete          Type = "application.lifecycle.delete"
	AppUserAdd         Type = "application.user_membership.add"
	AppUserUpdate      Type = "application.user_membership.update"
	AppUserRename      Type = "application.user_membership.change_username"
	AppUserPassword    Type = "application.user_membership.change_password" //nolint:gosec // a name
	AppUserRemove      Type = "application.user_membership.remove"
	AppUserProvision   Type = "application.user_membership.provision"
	AppUserDeprovision Type = "application.user_membership.deprovision"
	AppUserRevoke      Type = "application.user_membership.revoke"

	AppUserImport Type = "application.provision.user.import"
	ProfileImport Type = "application.provision.user.import_profile"
	GroupImport   Type = "application.provision.group.import"

	TargetLookup      Type = "application.provision.user.verify_exists"
	TargetPush        Type = "application.provision.user.push"
	TargetPushed      Type = "app.user_management.push_new_user_success"
	TargetProfile     Type = "application.provision.user.push_profile"
	TargetLink        Type = "application.provision.user.sync"
	TargetPassword    Type = "application.provision.user.push_password" //nolint:gosec // a name
	TargetDeactivate  Type = "application.provision.user.deactivate"
	TargetReactivate  Type = "application.provision.user.reactivate"
	TargetDeprovision Type = "application.provision.user.deprovision"
	TargetGroupAdd    Type = "application.provision.group.add"
	TargetGroupUpdate Type = "application.provision.group.update"
	TargetGroupRemove Type = "application.provision.group.remove"
	ConnectionUpdate  Type = "application.configuration.update"
	ConnectionTest    Type = "application.provision.integration.call_api"

	PushCreated     Type = "application.provision.group_push.mapping.created"
	PushActivated   Type = "application.provision.group_push.activate_mapping"
	PushDeactivated Type = "application.provision.group_push.deactivate_mapping"
	PushPushed      Type = "application.provision.group_push.pushed"
	PushMembers     Type = "application.provision.group_push.push_memberships"
	PushRemoved     Type = "application.provision.group_push.removed"
	PushRenamed     Type = "application.provision.group_push.mapping.app.group.renamed"
	PushFailed      Type = "application.provision.group_push.mapping.update.or.delete.failed.with.error"

	// The specification does not define events for group owners.
	GroupOwnerAdd    Type = "group.owner.add"
	GroupOwnerRemove Type = "group.owner.remove"

	// The specification does not define events for changes of group rules.
	RuleCreate       Type = "group.user_membership.rule.create"
	RuleUpdate       Type = "group.user_membership.rule.update"
	RuleDelete       Type = "group.user_membership.rule.delete"
	RuleActivate     Type = "group.user_membership.rule.activate"
	RuleDeactivate   Type = "group.user_membership.rule.deactivate"
	UserSchemaUpdate Type = "directory.user_profile.update"
	UserTypeCreate   Type = "directory.non_default_user_profile.create"
	AppSchemaUpdate  Type = "directory.app_user_profile.update"
	MappingUpdate    Type = "application.provision.field_mapping_rule.change"

	UserRoleGrant             Type = "user.account.privilege.grant"
	UserRoleRevoke            Type = "user.account.privilege.revoke"
	GroupRoleGrant            Type = "group.privilege.grant"
	GroupRoleRevoke           Type = "group.privilege.revoke"
	ClientRoleGrant           Type = "app.oauth2.client.privilege.grant"
	ClientRoleRevoke          Type = "app.oauth2.client.privilege.revoke"
	CustomRoleCreate          Type = "iam.role.create"
	CustomRoleUpdate          Type = "iam.role.update"
	CustomRoleDelete          Type = "iam.role.delete"
	PermissionAdd             Type = "iam.role.permissions.add"
	PermissionDelete          Type = "iam.role.permissions.delete"
	PermissionConditionAdd    Type = "iam.role.permission.conditions.add"
	PermissionConditionDelete Type = "iam.role.permission.conditions.delete"
	ResourceSetCreate         Type = "iam.resourceset.create"
	ResourceSetUpdate         Type = "iam.resourceset.update"
	ResourceSetDelete         Type = "iam.resourceset.delete"
	SetResourceAdd            Type = "iam.resourceset.resources.add"
	SetResourceDelete         Type = "iam.resourceset.resources.delete"
	BindingAdd                Type = "iam.resourceset.bindings.add"
	BindingDelete             Type = "iam.resourceset.bindings.delete"
	// The specification does not define events for role targets.
	RoleTargetAdd    Type = "iam.role.target.add"
	RoleTargetDelete Type = "iam.role.target.delete"

	AuthServerCreate     Type = "oauth2.as.created"
	AuthServerUpdate     Type = "oauth2.as.updated"
	AuthServerDelete     Type = "oauth2.as.deleted"
	AuthServerActivate   Type = "oauth2.as.activated"
	AuthServerDeactivate Type = "oauth2.as.deactivated"
	KeyRollover          Type = "app.oauth2.as.key.rollover"
	ScopeCreate          Type = "oauth2.scope.created"
	ScopeUpdate          Type = "oauth2.scope.updated"
	ScopeDelete          Type = "oauth2.scope.deleted"
	ClaimCreate          Type = "oauth2.claim.created"
	ClaimUpdate          Type = "oauth2.claim.updated"
	ClaimDelete          Type = "oauth2.claim.deleted"
	PolicyCreate         Type = "policy.lifecycle.create"
	PolicyUpdate         Type = "policy.lifecycle.update"
	PolicyDelete         Type = "policy.lifecycle.delete"
	PolicyActivate       Type = "policy.lifecycle.activate"
	PolicyDeactivate     Type = "policy.lifecycle.deactivate"
	PolicyRuleAdd        Type = "policy.rule.add"
	PolicyRuleUpdate     Type = "policy.rule.update"
	PolicyRuleDelete     Type = "policy.rule.delete"
	PolicyRuleActivate   Type = "policy.rule.activate"
	PolicyRuleDeactivate Type = "policy.rule.deactivate"

	AccessGrant    Type = "app.oauth2.as.token.grant"
	AccessIssue    Type = "app.oauth2.as.token.grant.access_token"
	RefreshIssue   Type = "app.oauth2.as.token.grant.refresh_token"
	OAuthRevoke    Type = "app.oauth2.as.token.revoke"
	OrgAccessGrant Type = "app.oauth2.token.grant"
	OrgRevoke      Type = "app.oauth2.token.revoke"
	// ConsentRevoke reports a withdrawn consent. The specification does not define an event for it.
	ConsentRevoke Type = "app.oauth2.as.consent.revoke"

	HookCreate     Type = "inline_hook.created"
	HookUpdate     Type = "inline_hook.updated"
	HookDelete     Type = "inline_hook.deleted"
	HookActivate   Type = "inline_hook.activated"
	HookDeactivate Type = "inline_hook.deactivated"
	HookExecute    Type = "inline_hook.executed"
	HookProcess    Type = "inline_hook.response.processed"
	HookKeyCreate  Type = "hook_key.created"
	HookKeyUpdate  Type = "hook_key.updated"
	HookKeyDelete  Type = "hook_key.deleted"

	// The specification does not define events for SMS templates.
	SMSTemplateCreate Type = "sms_template.created"
	SMSTemplateUpdate Type = "sms_template.updated"
	SMSTemplateDelete Type = "sms_template.deleted"

	// The specification does not define events for hardware tokens.
	HardwareTokenCreate Type = "system.mfa.hardware_token.create"
	HardwareTokenDelete Type = "system.mfa.hardware_token.delete"
	FactorActivate      Type = "user.mfa.factor.activate"
	FactorDeactivate    Type = "user.mfa.factor.deactivate"
	FactorResetAll      Type = "user.mfa.factor.reset_all"
	FactorUpdate        Type = "user.mfa.factor.update"
	FactorVerify        Type = "user.authentication.auth_via_mfa"
	FactorSMS           Type = "system.sms.send_factor_verify_message"
	FactorCall          Type = "system.voice.send_mfa_challenge_call"
	FactorEmail         Type = "system.email.send_factor_verify_message"

	TokenCreate Type = "system.api_token.create"
	TokenRevoke Type = "system.api_token.revoke"
	// TokenRefuse reports a request with an API token that is unknown or expired, or whose owner is not active. The specification does not
	// define an event for it.
	TokenRefuse Type = "system.api_token.refuse"
	RateLimit   Type = "system.org.rate_limit.violation"
)

// messages holds the display message of each event type.
var messages = map[Type]string{
	HardwareTokenCreate:       "Add a hardware token",
	HardwareTokenDelete:       "Delete a hardware token",
	FactorActivate:            "Activate a factor of a user",
	FactorDeactivate:          "Remove a factor of a user",
	FactorResetAll:            "Remove all factors of a user",
	FactorUpdate:              "Change a factor of a user",
	FactorVerify:              "Verify a factor of a user",
	FactorSMS:                 "Send a code by text message",
	FactorCall:                "Send a code by voice call",
	FactorEmail:               "Send a code by email",
	UserRoleGrant:             "Assign a role to a user",
	UserRoleRevoke:            "Revoke a role of a user",
	GroupRoleGrant:            "Assign a role to a group",
	GroupRoleRevoke:           "Revoke a role of a group",
	ClientRoleGrant:           "Assign a role to a client",
	ClientRoleRevoke:          "Revoke a role of a client",
	CustomRoleCreate:          "Create a custom role",
	CustomRoleUpdate:          "Change a custom role",
	CustomRoleDelete:          "Delete a custom role",
	PermissionAdd:             "Add a permission to a custom role",
	PermissionDelete:          "Remove a permission from a custom role",
	PermissionConditionAdd:    "Add conditions to a permission",
	PermissionConditionDelete: "Remove the conditions from a permission",
	ResourceSetCreate:         "Create a resource set",
	ResourceSetUpdate:         "Change a resource set",
	ResourceSetDelete:         "Delete a resource set",
	SetResourceAdd:            "Add a resource to a resource set",
	SetResourceDelete:         "Remove a resource from a resource set",
	BindingAdd:                "Bind a member to a custom role on a resource set",
	BindingDelete:             "Remove a member from the binding of a custom role on a resource set",
	RoleTargetAdd:             "Add a group or an application to the targets of a role",
	RoleTargetDelete:          "Remove a group or an application from the targets of a role",
	UserCreate:                "Create a user",
	UserActivate:              "Activate a user",
	UserReactivate:            "Restart the activation of a user",
	UserDeactivate:            "Deactivate a user",
	UserSuspend:               "Suspend a user",
	UserUnsuspend:             "End the suspension of a user",
	UserDeleteInitiated:       "Start the deletion of a user",
	UserDeleteCompleted:       "Delete a user",
	UserUpdateProfile:         "Change the profile of a user",
	UserUpdatePassword:        "Set the password of a user",
	UserResetPassword:         "Require a user to choose a new password",
	UserExpirePassword:        "Expire the password of a user",
	UserImportPassword:        "Import the password of a user from another system",
	UserSessionStart:          "Sign in",
	UserSessionEnd:            "End a session",
	UserSessionClear:          "End all sessions of a user",
	UserLock:                  "Lock a user out after too many failed attempts",
	UserUnlock:                "Unlock a user",
	UserAutoUnlock:            "The lockout of a user has ended",
	GroupCreate:               "Create a group",
	GroupUpdate:               "Change the profile of a group",
	GroupDelete:               "Delete a group",
	GroupMemberAdd:            "Add a user to a group",
	GroupMemberRemove:         "Remove a user from a group",
	GroupOwnerAdd:             "Add an owner to a group",
	GroupOwnerRemove:          "Remove an owner from a group",
	RuleCreate:                "Create a group rule",
	RuleUpdate:                "Change a group rule",
	RuleDelete:                "Delete a group rule",
	RuleActivate:              "Activate a group rule",
	RuleDeactivate:            "Deactivate a group rule",
	RuleTrigger:               "A group rule changed the groups of a user",
	RuleInvalidate:            "A group rule cannot be applied any more and has become INVALID",
	GroupAssignAdd:            "Assign a group to an application",
	GroupAssignUpdate:         "Change the assignment of a group to an application",
	GroupAssignRemove:         "End the assignment of a group to an application",
	AppCreate:                 "Add an application",
	AppUpdate:                 "Change an application",
	AppActivate:               "Activate an application",
	AppDeactivate:             "Deactivate an application",
	AppDelete:                 "Delete an application",
	AppUserAdd:                "Assign a user to an application",
	AppUserUpdate:             "Change the assignment of a user to an application",
	AppUserRename:             "Change the user name of a user in an application",
	AppUserPassword:           "Change the password of a user in an application",
	AppUserRemove:             "End the assignment of a user to an application",
	AppUserImport:             "Import accounts of the target",
	ProfileImport:             "The profile of a user was imported from the target",
	GroupImport:               "Import the groups of the target",
	AppUserProvision:          "A user has an account in the target of an application",
	AppUserDeprovision:        "The account of a user in the target of an application was deactivated",
	AppUserRevoke:             "A user is no longer assigned to an application; the account in its target was not changed",
	TargetLookup:              "Search for a user in the target of an application",
	TargetPush:                "Create a user in the target of an application",
	TargetPushed:              "A user was created in the target of an application",
	TargetProfile:             "Update a user in the target of an application",
	TargetLink:                "Link a user to an account in the target of an application",
	TargetPassword:            "Set the password of a user in the target of an application",
	TargetDeactivate:          "Deactivate a user in the target of an application",
	TargetReactivate:          "Reactivate a user in the target of an application",
	TargetDeprovision:         "A user was deprovisioned from the target of an application",
	TargetGroupAdd:            "Create a group in the target of an application",
	TargetGroupUpdate:         "Update a group in the target of an application",
	TargetGroupRemove:         "Delete a group in the target of an application",
	ConnectionUpdate:          "Change the provisioning of an application",
	ConnectionTest:            "Verify the provisioning connection of an application",
	PushCreated:               "Create a group push mapping",
	PushActivated:             "Resume a group push mapping",
	PushDeactivated:           "Pause a group push mapping",
	PushPushed:                "A group was pushed",
	PushMembers:               "The members of a group were pushed",
	PushRemoved:               "Delete a group push mapping",
	PushRenamed:               "A pushed group was renamed",
	PushFailed:                "Pushing a group failed",
	UserUpdateType:            "Change the type of a user",
	UserSchemaUpdate:          "Change a user type, its profile schema or that of groups",
	AppSchemaUpdate:           "Change the profile schema of the users of an application",
	MappingUpdate:             "Change a profile mapping",
	UserTypeCreate:            "Create a user type",
	PolicyUpdate:              "Change a policy",
	TokenCreate:               "Create an API token",
	TokenRevoke:               "Revoke an API token",
	TokenRefuse:               "An API token was rejected",
	RateLimit:                 "A rate limit was exceeded",
	AuthServerCreate:          "Create an authorization server",
	AuthServerUpdate:          "Change an authorization server",
	AuthServerDelete:          "Delete an authorization server",
	AuthServerActivate:        "Activate an authorization server",
	AuthServerDeactivate:      "Deactivate an authorization server",
	KeyRollover:               "Replace the signing key of an authorization server",
	ScopeCreate:               "Create a scope",
	ScopeUpdate:               "Change a scope",
	ScopeDelete:               "Delete a scope",
	ClaimCreate:               "Create a claim",
	ClaimUpdate:               "Change a claim",
	ClaimDelete:               "Delete a claim",
	PolicyCreate:              "Create a policy",
	PolicyDelete:              "Delete a policy",
	PolicyActivate:            "Activate a policy",
	PolicyDeactivate:          "Deactivate a policy",
	PolicyRuleAdd:             "Add a rule to a policy",
	PolicyRuleUpdate:          "Change a rule of a policy",
	PolicyRuleDelete:          "Delete a rule of a policy",
	PolicyRuleActivate:        "Activate a rule of a policy",
	PolicyRuleDeactivate:      "Deactivate a rule of a policy",
	AccessGrant:               "A client requested a token from a custom authorization server",
	AccessIssue:               "An access token was issued",
	RefreshIssue:              "A refresh token was issued",
	OAuthRevoke:               "A token was revoked",
	OrgRevoke:                 "A token of the org authorization server was revoked",
	OrgAccessGrant:            "A client requested a token from the org authorization server",
	ConsentRevoke:             "A consent was withdrawn",
	HookCreate:                "Register an inline hook",
	HookUpdate:                "Change an inline hook",
	HookDelete:                "Delete an inline hook",
	HookActivate:              "Activate an inline hook",
	HookDeactivate:            "Deactivate an inline hook",
	HookExecute:               "Call the endpoint of an inline hook",
	HookProcess:               "Apply the response of an inline hook",
	HookKeyCreate:             "Create a hook key",
	HookKeyUpdate:             "Rename a hook key",
	HookKeyDelete:             "Delete a hook key",
	SMSTemplateCreate:         "Create an SMS template",
	SMSTemplateUpdate:         "Update an SMS template",
	SMSTemplateDelete:         "Delete an SMS template",
}

// Types lists the event types that can be in the log.
func Types() []Type {
	types := make([]Type, 0, len(messages))
	for t := range messages {
		types = append(types, t)
	}
	slices.Sort(types)
	return types
}

// Message returns the display message of an event type.
func (t Type) Message() string { return messages[t] }
