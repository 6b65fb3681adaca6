package mgmtapi_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/fixtures"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// ownOperations are the operations that are not in the specification, each with the reason for it.
var ownOperations = map[string]string{
	"explainAuthorization":   "permissions result from roles, targets, sets, conditions and groups, so a rejection needs an explanation",
	"getClock":               "a client that advances the clock needs its time and its offset from the real time",
	"listProviders":          managesProviders,
	"getProvider":            managesProviders,
	"createProvider":         managesProviders,
	"deleteProvider":         managesProviders,
	"resetProvider":          managesProviders,
	"previewProfileMapping":  "a rule changes the accounts of all users of an application, so its effect is shown before",
	"createProviderToken":    providerTokens,
	"deleteProviderToken":    providerTokens,
	"listQuirks":             changesQuirks,
	"replaceQuirks":          changesQuirks,
	"attestSecurityKey":      "test clients have no security key, and signatures are checked by default",
	"assertSecurityKey":      "test clients have no security key, and signatures are checked by default",
	"getWork":                "asynchronous work completes too fast to be observed, unless it is on hold",
	"holdWork":               "asynchronous work completes too fast to be observed, unless it is on hold",
	"createPolicyRule":       demandsFactors,
	"getPolicyRule":          demandsFactors,
	"replacePolicyRule":      demandsFactors,
	"deletePolicyRule":       demandsFactors,
	"activatePolicyRule":     demandsFactors,
	"deactivatePolicyRule":   demandsFactors,
	"verifySignInFactor":     "a sign-in with the status MFA_REQUIRED continues with a factor",
	"enrollSignInFactor":     "a user without a factor must be able to complete a sign-in that requires one",
	"activateSignInFactor":   "a user without a factor must be able to complete a sign-in that requires one",
	"previousSignInStep":     "a user whose selected factor is not available selects another one",
	"introspect":             "tokens of the org server are credentials like those of custom authorization servers",
	"revoke":                 "tokens of the org server are credentials like those of custom authorization servers",
	"listSmsTemplates":       choosesTexts,
	"createSmsTemplate":      choosesTexts,
	"getSmsTemplate":         choosesTexts,
	"replaceSmsTemplate":     choosesTexts,
	"updateSmsTemplate":      choosesTexts,
	"deleteSmsTemplate":      choosesTexts,
	"getApplicationLogo":     linksLead,
	"getCatalogApplication":  linksLead,
	"getApplicationLinkPage": linksLead,
	"getApplicationHelpPage": linksLead,
	"createPolicy":           "reports that no further policies can be created; without the operation the response would be 405",
}

const (
	choosesTexts = "the parameter templateId of factor operations selects one of these templates"
	linksLead    = "the links of an application must lead to an existing resource"
)

const demandsFactors = "the rules of the sign-on policy determine whether a sign-in requires a factor"

const (
	managesProviders = "the SCIM servers of the sandbox are managed through the same API as its other objects"
	providerTokens   = "tests of a client need credentials that expire or are read-only"
	changesQuirks    = "quirks change at run time, so that one process can test a client against each of them"
)

// alwaysRejected are the operations that always fail, each with the reason for it.
var alwaysRejected = map[string]string{
	"createPolicy": "each type has exactly one policy, which belongs to the system",
}

// servedElsewhere are the operations of the specification that are not in the operation table, each with the place that serves it.
var servedElsewhere = map[string]string{
	"GET /sandbox/v1/health": "needs no credentials, and is served before the API is open (`cmd/internal/sandbox`)",

	"GET /sandbox/v1/apps/{appId}/tasks":                 controlAPI,
	"POST /sandbox/v1/apps/{appId}/import":               controlAPI,
	"GET /sandbox/v1/apps/{appId}/import/{jobId}":        controlAPI,
	"POST /sandbox/v1/apps/{appId}/tasks/{taskId}/retry": controlAPI,
}

const controlAPI = "served by the engine's control API (`engine/control`)"

// logged lists the log events that each operation with effects must write.
var logged = map[string][]audit.Type{
	"createUser":  {audit.UserCreate, audit.UserActivate, audit.GroupMemberAdd},
	"updateUser":  {audit.UserUpdateProfile, audit.UserUpdatePassword, audit.RuleTrigger},
	"replaceUser": {audit.UserUpdateProfile, audit.UserUpdateType},
	"deleteUser": {audit.UserDeactivate, audit.UserDeleteInitiated, audit.UserDeleteCompleted,
		audit.TokenRevoke},
	"activateUser":   {audit.UserActivate},
	"reactivateUser": {audit.UserReactivate},
	"deactivateUser": {audit.UserDeactivate, audit.GroupMemberRemove, audit.AppUserRemove},
	"suspendUser":    {audit.UserSuspend},
	"unsuspendUser":  {audit.UserUnsuspend},
	"createGroup":    {audit.GroupCreate},
	"replaceGroup":   {audit.GroupUpdate, audit.PushRenamed},
	"deleteGroup": {audit.GroupDelete, audit.GroupAssignRemove, audit.PushRemoved,
		audit.RuleInvalidate},
	"addGroupUser":                                       {audit.GroupMemberAdd, audit.AppUserAdd},
	"removeGroupUser":                                    {audit.GroupMemberRemove, audit.AppUserRemove},
	"addGroupOwner":                                      {audit.GroupOwnerAdd},
	"removeGroupOwner":                                   {audit.GroupOwnerRemove},
	"createGroupRule":                                    {audit.RuleCreate},
	"replaceGroupRule":                                   {audit.RuleUpdate},
	"deleteGroupRule":                                    {audit.RuleDelete, audit.GroupMemberRemove},
	"activateGroupRule":                                  {audit.RuleActivate, audit.GroupMemberAdd, audit.GroupMemberRemove},
	"deactivateGroupRule":                                {audit.RuleDeactivate},
	"createApplication":                                  {audit.AppCreate},
	"replaceApplication":                                 {audit.AppUpdate},
	"deleteApplication":                                  {audit.AppDelete},
	"activateApplication":                                {audit.AppActivate},
	"deactivateApplication":                              {audit.AppDeactivate},
	"generateApplicationKey":                             {audit.AppUpdate},
	"cloneApplicationKey":                                {audit.AppUpdate},
	"consentToScope":                                     {audit.AppUpdate},
	"revokeScopeConsentGrant":                            {audit.AppUpdate},
	"assignUserToApplication":                            {audit.AppUserAdd, audit.AppUserUpdate},
	"updateApplicationUser":                              {audit.AppUserUpdate, audit.AppUserRename},
	"unassignUserFromApplication":                        {audit.AppUserRemove, audit.AppUserRevoke, audit.AppUserUpdate},
	"assignGroupToApplication":                           {audit.GroupAssignAdd, audit.GroupAssignUpdate, audit.AppUserAdd},
	"updateApplicationGroup":                             {audit.GroupAssignUpdate, audit.AppUserUpdate},
	"unassignGroupFromApplication":                       {audit.GroupAssignRemove, audit.AppUserRemove},
	"updateDefaultConnection":                            {audit.ConnectionUpdate, audit.ConnectionTest},
	"activateDefaultConnection":                          {audit.ConnectionUpdate, audit.ConnectionTest},
	"deactivateDefaultConnection":                        {audit.ConnectionUpdate},
	"updateFeature":                                      {audit.ConnectionUpdate},
	"createGroupPushMapping":                             {audit.PushCreated},
	"updateGroupPushMapping":                             {audit.PushActivated, audit.PushDeactivated},
	"deleteGroupPushMapping":                             {audit.PushRemoved},
	"revokeApiToken":                                     {audit.TokenRevoke},
	"revokeCurrentApiToken":                              {audit.TokenRevoke},
	"createAPIToken":                                     {audit.TokenCreate},
	"resetPassword":                                      {audit.UserResetPassword},
	"expirePassword":                                     {audit.UserExpirePassword},
	"expirePasswordWithTempPassword":                     {audit.UserExpirePassword},
	"unlockUser":                                         {audit.UserUnlock},
	"changePassword":                                     {audit.UserUpdatePassword},
	"changeRecoveryQuestion":                             {audit.UserUpdateProfile},
	"forgotPassword":                                     {audit.UserResetPassword, audit.UserUpdatePassword},
	"forgotPasswordSetNewPassword":                       {audit.UserUpdatePassword},
	"authenticate":                                       {audit.UserSessionStart, audit.UserImportPassword},
	"resetRecoveredPassword":                             {audit.UserUpdatePassword, audit.UserSessionStart},
	"changeExpiredPassword":                              {audit.UserUpdatePassword, audit.UserSessionStart},
	"verifySignInFactor":                                 {audit.FactorVerify, audit.UserSessionStart},
	"enrollSignInFactor":                                 {audit.FactorActivate, audit.FactorEmail, audit.UserSessionStart},
	"activateSignInFactor":                               {audit.FactorActivate, audit.UserSessionStart},
	"replacePolicy":                                      {audit.PolicyUpdate},
	"createPolicyRule":                                   {audit.PolicyRuleAdd},
	"replacePolicyRule":                                  {audit.PolicyRuleUpdate},
	"deletePolicyRule":                                   {audit.PolicyRuleDelete},
	"activatePolicyRule":                                 {audit.PolicyRuleActivate},
	"deactivatePolicyRule":                               {audit.PolicyRuleDeactivate},
	"uploadYubikeyOtpTokenSeed":                          {audit.HardwareTokenCreate},
	"deleteYubikeyOtpToken":                              {audit.HardwareTokenDelete},
	"createUserType":                                     {audit.UserTypeCreate},
	"updateUserType":                                     {audit.UserSchemaUpdate},
	"replaceUserType":                                    {audit.UserSchemaUpdate},
	"deleteUserType":                                     {audit.UserSchemaUpdate},
	"updateUserSchema":                                   {audit.UserSchemaUpdate},
	"createSession":                                      {audit.UserSessionStart},
	"revokeSession":                                      {audit.UserSessionEnd},
	"closeCurrentSession":                                {audit.UserSessionEnd},
	"revokeUserSessions":                                 {audit.UserSessionClear},
	"updateGroupSchema":                                  {audit.UserSchemaUpdate},
	"updateApplicationUserProfile":                       {audit.AppSchemaUpdate},
	"updateProfileMapping":                               {audit.MappingUpdate},
	"assignRoleToUser":                                   {audit.UserRoleGrant, audit.BindingAdd},
	"unassignRoleFromUser":                               {audit.UserRoleRevoke, audit.BindingDelete},
	"assignGroupTargetToUserRole":                        {audit.RoleTargetAdd},
	"assignAppTargetToAdminRoleForUser":                  {audit.RoleTargetAdd},
	"assignAppInstanceTargetToAppAdminRoleForUser":       {audit.RoleTargetAdd},
	"unassignGroupTargetFromUserAdminRole":               {audit.RoleTargetDelete},
	"unassignAppTargetFromAppAdminRoleForUser":           {audit.RoleTargetDelete},
	"unassignAppInstanceTargetFromAdminRoleForUser":      {audit.RoleTargetDelete},
	"assignRoleToGroup":                                  {audit.GroupRoleGrant, audit.BindingAdd},
	"unassignRoleFromGroup":                              {audit.GroupRoleRevoke, audit.BindingDelete},
	"assignGroupTargetToGroupAdminRole":                  {audit.RoleTargetAdd},
	"assignAppTargetToAdminRoleForGroup":                 {audit.RoleTargetAdd},
	"assignAppInstanceTargetToAppAdminRoleForGroup":      {audit.RoleTargetAdd},
	"unassignGroupTargetFromGroupAdminRole":              {audit.RoleTargetDelete},
	"unassignAppTargetToAdminRoleForGroup":               {audit.RoleTargetDelete},
	"unassignAppInstanceTargetToAppAdminRoleForGroup":    {audit.RoleTargetDelete},
	"assignRoleToClient":                                 {audit.ClientRoleGrant, audit.BindingAdd},
	"deleteRoleFromClient":                               {audit.ClientRoleRevoke, audit.BindingDelete},
	"assignGroupTargetRoleForClient":                     {audit.RoleTargetAdd},
	"assignAppTargetRoleToClient":                        {audit.RoleTargetAdd},
	"assignAppTargetInstanceRoleForClient":               {audit.RoleTargetAdd},
	"removeGroupTargetRoleFromClient":                    {audit.RoleTargetDelete},
	"removeAppTargetRoleFromClient":                      {audit.RoleTargetDelete},
	"removeAppTargetInstanceRoleForClient":               {audit.RoleTargetDelete},
	"assignAllAppsAsTargetToRoleForUser":                 {audit.RoleTargetDelete},
	"createRole":                                         {audit.CustomRoleCreate},
	"replaceRole":                                        {audit.CustomRoleUpdate},
	"deleteRole":                                         {audit.CustomRoleDelete},
	"createRolePermission":                               {audit.PermissionAdd, audit.PermissionConditionAdd},
	"replaceRolePermission":                              {audit.PermissionConditionAdd, audit.PermissionConditionDelete},
	"deleteRolePermission":                               {audit.PermissionDelete},
	"createResourceSet":                                  {audit.ResourceSetCreate, audit.SetResourceAdd},
	"replaceResourceSet":                                 {audit.ResourceSetUpdate},
	"deleteResourceSet":                                  {audit.ResourceSetDelete, audit.BindingDelete},
	"addResourceSetResources":                            {audit.SetResourceAdd},
	"addResourceSetResource":                             {audit.SetResourceAdd},
	"replaceResourceSetResource":                         {audit.ResourceSetUpdate},
	"deleteResourceSetResource":                          {audit.SetResourceDelete},
	"createResourceSetBinding":                           {audit.BindingAdd, audit.UserRoleGrant, audit.GroupRoleGrant},
	"deleteBinding":                                      {audit.BindingDelete, audit.UserRoleRevoke},
	"addMembersToBinding":                                {audit.BindingAdd},
	"unassignMemberFromBinding":                          {audit.BindingDelete, audit.UserRoleRevoke},
	"createAuthorizationServer":                          {audit.AuthServerCreate},
	"replaceAuthorizationServer":                         {audit.AuthServerUpdate},
	"deleteAuthorizationServer":                          {audit.AuthServerDelete},
	"activateAuthorizationServer":                        {audit.AuthServerActivate},
	"deactivateAuthorizationServer":                      {audit.AuthServerDeactivate},
	"createAuthorizationServerPolicy":                    {audit.PolicyCreate},
	"replaceAuthorizationServerPolicy":                   {audit.PolicyUpdate},
	"deleteAuthorizationServerPolicy":                    {audit.PolicyDelete},
	"activateAuthorizationServerPolicy":                  {audit.PolicyActivate},
	"deactivateAuthorizationServerPolicy":                {audit.PolicyDeactivate},
	"createAuthorizationServerPolicyRule":                {audit.PolicyRuleAdd},
	"replaceAuthorizationServerPolicyRule":               {audit.PolicyRuleUpdate},
	"deleteAuthorizationServerPolicyRule":                {audit.PolicyRuleDelete},
	"activateAuthorizationServerPolicyRule":              {audit.PolicyRuleActivate},
	"deactivateAuthorizationServerPolicyRule":            {audit.PolicyRuleDeactivate},
	"createOAuth2Scope":                                  {audit.ScopeCreate},
	"replaceOAuth2Scope":                                 {audit.ScopeUpdate},
	"deleteOAuth2Scope":                                  {audit.ScopeDelete},
	"createOAuth2Claim":                                  {audit.ClaimCreate},
	"replaceOAuth2Claim":                                 {audit.ClaimUpdate},
	"deleteOAuth2Claim":                                  {audit.ClaimDelete},
	"rotateAuthorizationServerKeys":                      {audit.KeyRollover},
	"tokenCustomAS":                                      {audit.AccessGrant, audit.AccessIssue, audit.RefreshIssue},
	"token":                                              {audit.OrgAccessGrant},
	"revokeCustomAS":                                     {audit.OAuthRevoke},
	"revoke":                                             {audit.OrgRevoke},
	"createClient":                                       {audit.AppCreate},
	"replaceClient":                                      {audit.AppUpdate},
	"deleteClient":                                       {audit.AppDelete},
	"revokeUserGrants":                                   {audit.ConsentRevoke, audit.OAuthRevoke},
	"revokeUserGrant":                                    {audit.ConsentRevoke, audit.OAuthRevoke},
	"revokeGrantsForUserAndClient":                       {audit.ConsentRevoke, audit.OAuthRevoke},
	"revokeTokensForUserAndClient":                       {audit.OAuthRevoke},
	"revokeTokenForUserAndClient":                        {audit.OAuthRevoke},
	"revokeOAuth2TokensForApplication":                   {audit.OAuthRevoke},
	"revokeOAuth2TokenForApplication":                    {audit.OAuthRevoke},
	"revokeRefreshTokensForAuthorizationServerAndClient": {audit.OAuthRevoke},
	"revokeRefreshTokenForAuthorizationServerAndClient":  {audit.OAuthRevoke},
	"createHookKey":                                      {audit.HookKeyCreate},
	"replaceHookKey":                                     {audit.HookKeyUpdate},
	"deleteHookKey":                                      {audit.HookKeyDelete},
	"createSmsTemplate":                                  {audit.SMSTemplateCreate},
	"replaceSmsTemplate":                                 {audit.SMSTemplateUpdate},
	"updateSmsTemplate":                                  {audit.SMSTemplateUpdate},
	"deleteSmsTemplate":                                  {audit.SMSTemplateDelete},
	"createInlineHook":                                   {audit.HookCreate},
	"replaceInlineHook":                                  {audit.HookUpdate},
	"updateInlineHook":                                   {audit.HookUpdate},
	"deleteInlineHook":                                   {audit.HookDelete},
	"activateInlineHook":                                 {audit.HookActivate},
	"deactivateInlineHook":                               {audit.HookDeactivate},
	"executeInlineHook":                                  {audit.HookExecute},
	"enrollFactor": {audit.FactorActivate, audit.FactorSMS, audit.FactorCall, audit.FactorEmail,
		audit.FactorUpdate},
	"activateFactor":          {audit.FactorActivate},
	"pollFactorActivation":    {audit.FactorActivate},
	"sendPushActivationEmail": {audit.FactorEmail},
	"sendPushActivationSms":   {audit.FactorSMS},
	"completePushActivation":  {audit.FactorActivate},
	"answerPushTransaction":   {audit.FactorVerify},
	"completeWebFactor":       {audit.FactorActivate, audit.FactorVerify},
	"resendEnrollFactor":      {audit.FactorSMS, audit.FactorCall, audit.FactorEmail},
	"verifyFactor":            {audit.FactorVerify, audit.FactorSMS},
	"cancelFactorTransaction": {audit.FactorVerify},
	"replaceFactor":           {audit.FactorUpdate},
	"unenrollFactor":          {audit.FactorDeactivate},
	"resetFactors":            {audit.FactorResetAll, audit.FactorDeactivate},
	"activateOrgFactor":       {audit.PolicyActivate},
	"deactivateOrgFactor":     {audit.PolicyDeactivate},
}

const changesTargets = "a change of the targets of a role changes the permissions of its administrators"

const changesRules = "a change of a group rule changes the members of groups"

const changesTexts = "a change of a template changes the messages that users receive"

// ownEvents are the event types that are not in the specification, each with the reason for it.
var ownEvents = map[string]string{
	string(audit.GroupOwnerAdd):    "the log shows who is responsible for a group",
	string(audit.GroupOwnerRemove): "the log shows who is responsible for a group",

	string(audit.RuleCreate):     changesRules,
	string(audit.RuleUpdate):     changesRules,
	string(audit.RuleDelete):     changesRules,
	string(audit.RuleActivate):   changesRules,
	string(audit.RuleDeactivate): changesRules,

	string(audit.RoleTargetAdd):       changesTargets,
	string(audit.RoleTargetDelete):    changesTargets,
	string(audit.HardwareTokenCreate): "the log shows the hardware tokens that users can sign in with",
	string(audit.HardwareTokenDelete): "the log shows the hardware tokens that users can sign in with",
	string(audit.ConsentRevoke):       "the withdrawal of a consent ends permissions of a client",

	string(audit.SMSTemplateCreate): changesTexts,
	string(audit.SMSTemplateUpdate): changesTexts,
	string(audit.SMSTemplateDelete): changesTexts,

	string(audit.OrgRevoke):   "tokens of the org server can be revoked like those of custom authorization servers",
	string(audit.TokenRefuse): "the log shows attempts to guess tokens, and clients with an expired token",
}

const providersApart = "the SCIM servers of the sandbox are not part of the organization"

// unlogged are the operations with effects that are not logged, each with the reason for it.
var unlogged = map[string]string{
	"verifyRecoveryToken":    "starts a recovery, which is logged when it completes",
	"answerRecoveryQuestion": "continues a recovery, which is logged when it completes",
	"previousSignInStep":     "goes back in a sign-in, which is logged when it completes",
	"cancelSignIn":           "cancels a sign-in, which is logged only when it completes",
	"refreshSession":         "extends a session whose start was logged",
	"refreshCurrentSession":  "extends a session whose start was logged",
	"drainJobs":              "waits without changing anything",
	"createPolicy":           "is always rejected",
	"deleteMessages":         "the outbox represents mailboxes, which are not part of the organization",
	"attestSecurityKey":      "a security key is not part of the organization; the activation that it is for is logged",
	"assertSecurityKey":      "a security key is not part of the organization; the verification that it is for is logged",
	"holdWork":               "work on hold is logged when it completes",
	"advanceClock":           "the clock is not part of the organization",
	"resetSandbox":           "the log is deleted, too",
	"introspect":             "returns the state of a token without changing anything",
	"introspectCustomAS":     "returns the state of a token without changing anything",
	"previewProfileMapping":  "evaluates rules without changing anything",
	"provisionUsers":         "the requests of the attempts are logged as events of jobs",
	"createProvider":         providersApart,
	"deleteProvider":         providersApart,
	"resetProvider":          providersApart,
	"createProviderToken":    providersApart,
	"deleteProviderToken":    providersApart,
	"replaceQuirks":          providersApart,
}

// table returns all operations, including those that need an option.
func table(t *testing.T) []rest.Info {
	t.Helper()
	api, err := assembly.New(assembly.Options{
		Store: &docstore.Store{}, Model: model.New(),
		Work: struct{ sandboxport.Work }{}, Providers: struct{ sandboxport.Providers }{},
		Clock: struct{ sandboxport.Clock }{}, Reset: func(context.Context, bool) error { return nil },
	})
	require.NoError(t, err)
	var out []rest.Info
	for _, route := range api.Operations() {
		if info := rest.Describe(route); !info.Unsupported {
			out = append(out, info)
		}
	}
	return out
}

var pathVariable = regexp.MustCompile(`\{\w+\}`)

// shape returns a route without the names of its variables.
func shape(do string) string { return pathVariable.ReplaceAllString(do, "{}") }

// facts returns what the tests of all packages have recorded.
func facts(t *testing.T) apitest.Coverage {
	t.Helper()
	all := apitest.Coverage{}
	var files []string
	for _, depth := range []string{"*", filepath.Join("*", "*")} {
		found, err := filepath.Glob(filepath.Join("internal", depth, filepath.FromSlash(apitest.RecordFile)))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.NotEmpty(t, files)
	for _, file := range files {
		require.NoError(t, apitest.ReadFacts(all, filepath.Dir(filepath.Dir(file))))
	}
	return all
}

// TestOperations_SpecifiedAndTested checks that each operation is specified or has a reason, and that it succeeded in a test.
func TestOperations_SpecifiedAndTested(t *testing.T) {
	specified := map[string]bool{}
	sections, err := fixtures.Operations()
	require.NoError(t, err)
	for _, section := range sections {
		for _, o := range section.Operations {
			specified[shape(o.Do)] = true
		}
	}
	seen := facts(t)
	there := map[string]bool{}
	for _, info := range table(t) {
		there[info.ID] = true
		reason, own := ownOperations[info.ID]
		require.NotEqual(t, own, specified[shape(info.Method+" "+info.Path)],
			"%s: list the operation in fixtures/operations/management.json "+
				"or, with a reason, in ownOperations, not in both; its reason is %q", info.ID, reason)
		require.Equal(t, alwaysRejected[info.ID] == "", len(seen[info.ID].Tests) > 0, "%s: the operation has not succeeded in any test; "+
			"add one and run its package with -update; list an operation that never succeeds in alwaysRejected", info.ID)
	}
	for _, id := range slices.Concat(slices.Collect(maps.Keys(ownOperations)), seen.Operations()) {
		require.True(t, there[id], "%s is not an operation", id)
	}
}

func TestLog_RecordsEveryChange(t *testing.T) {
	seen := facts(t)
	types := map[string]bool{}
	for _, event := range audit.Types() {
		types[string(event)] = true
	}
	changes := map[string]bool{}
	for _, info := range table(t) {
		if info.Method == http.MethodGet {
			require.Empty(t, seen[info.ID].Events, "%s is a GET operation and must not write log events", info.ID)
			continue
		}
		changes[info.ID] = true
		want, reason := logged[info.ID], unlogged[info.ID]
		require.NotEqual(t, len(want) > 0, reason != "",
			"%s: name its log events in logged or, with a reason, add it to unlogged, not to both", info.ID)
		for _, event := range want {
			require.Contains(t, seen[info.ID].Events, string(event),
				"%s: the operation has not written the event in any test; add one and run its package with -update", info.ID)
		}
		if reason != "" {
			require.Empty(t, seen[info.ID].Events, "%s is listed as not logged: %s", info.ID, reason)
		}
		for _, event := range seen[info.ID].Events {
			require.True(t, types[event], "%s wrote an event of the unknown type %s", info.ID, event)
		}
	}
	for _, id := range slices.Concat(slices.Collect(maps.Keys(logged)), slices.Collect(maps.Keys(unlogged))) {
		require.True(t, changes[id], "%s is not an operation with effects", id)
	}
}

// TestEventTypes_SpecifiedAndWritten checks that each event type is specified or has a reason, and that a test writes it.
func TestEventTypes_SpecifiedAndWritten(t *testing.T) {
	subjects, err := fixtures.EventTypes()
	require.NoError(t, err)
	specified := map[string]bool{}
	for _, s := range subjects {
		for _, event := range s.Types {
			require.False(t, specified[event], "%s is listed twice", event)
			specified[event] = true
		}
	}
	seen := facts(t)
	written := slices.Clone(seen[apitest.NoOperation].Events)
	for _, id := range seen.Operations() {
		written = append(written, seen[id].Events...)
	}
	for _, event := range audit.Types() {
		require.Contains(t, written, string(event), "no test writes the event")
		require.NotEqual(t, specified[string(event)], ownEvents[string(event)] != "",
			"%s: list the event type in the specification or, with a reason, in ownEvents, not in both",
			event)
		require.NotEmpty(t, event.Message())
	}
}

// eventsOf returns the section of docs/generated/operations.md about event types: those that the API writes, and those of the specification
// that the API does not write.
func eventsOf(t *testing.T) string {
	subjects, err := fixtures.EventTypes()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, event := range audit.Types() {
		known[string(event)] = true
	}
	var out strings.Builder
	out.WriteString("\n## Event types of the system log\n\n| Subject | Written | Missing |\n|---|---|---|\n")
	quoted := func(types []string) string {
		if len(types) == 0 {
			return ""
		}
		return "`" + strings.Join(types, "`, `") + "`"
	}
	for _, s := range subjects {
		missing := slices.DeleteFunc(slices.Clone(s.Types), func(event string) bool { return known[event] })
		written := slices.DeleteFunc(slices.Clone(s.Types), func(event string) bool { return !known[event] })
		fmt.Fprintf(&out, "| %s | %s | %s |\n", s.Subject, quoted(written), quoted(missing))
	}
	for _, event := range slices.Sorted(maps.Keys(ownEvents)) {
		fmt.Fprintf(&out, "| Not in the specification: %s | `%s` | |\n", ownEvents[event], event)
	}
	return out.String()
}

func TestOperationsDocument_UpToDate(t *testing.T) {
	file := filepath.Join("..", "docs", "generated", "operations.md")
	have := operationsDocument(t)
	goldentest.Check(t, file, have)
}

const operationsHead = `# Operations of the management API

This page is for authors of API clients who search for an operation, and for developers who add one.

This page lists every operation of the specification of the management API by section. The column "Id" has the id of the operation in the
operation table of the code, and the column "Succeeded in" has the tests in which the operation succeeded. The tests record the ` +
	`operations (` + "`testdata/operations.txt`" + ` of each package), and
` + "`make golden`" + ` generates this page from the records. The id of an operation that is not served yet is **missing**.

The column "Document" has a letter if the operation is part of document A (authorization servers and hooks), B (roles, users and ` +
	`factors) or C
(applications). [deviations.md](../reference/deviations.md) describes these documents. The value "gaps" marks an operation that ` +
	`completes these documents, and "extensions" marks an extension of the sandbox for tests.
Document A has two operations with the path of a hook key: a ` + "`GET`" + ` by its id and a ` + "`GET`" + ` by its key id. They are ` +
	`two rows for one operation of the code.
`

// operationsDocument returns the text of docs/generated/operations.md.
func operationsDocument(t *testing.T) string {
	sections, err := fixtures.Operations()
	require.NoError(t, err)
	seen := facts(t)
	byShape, own := map[string]rest.Info{}, []rest.Info{}
	for _, info := range table(t) {
		byShape[shape(info.Method+" "+info.Path)] = info
		if ownOperations[info.ID] != "" {
			own = append(own, info)
		}
	}
	var summary, tables strings.Builder
	total, there, shared := 0, 0, 0
	onPage := map[string]bool{}
	for _, section := range sections {
		fmt.Fprintf(&tables, "\n## %s\n\n| Operation | Subject | Document | Id | Succeeded in |\n|---|---|---|---|---|\n", section.Title)
		present := 0
		for _, o := range section.Operations {
			info, ok := byShape[shape(o.Do)]
			id, tests := "**missing**", ""
			switch {
			case ok:
				if onPage[shape(o.Do)] {
					shared++ // the specification has two operations with this method and path
				}
				onPage[shape(o.Do)] = true
				id, tests = "`"+info.ID+"`", testNames(seen[info.ID].Tests)
			case servedElsewhere[o.Do] != "":
				id = servedElsewhere[o.Do]
			}
			if id != "**missing**" {
				present++
			}
			fmt.Fprintf(&tables, "| `%s` | %s | %s | %s | %s |\n", o.Do, o.Subject, o.Document, id, tests)
		}
		fmt.Fprintf(&summary, "| [%s](#%s) | %d | %d | %d |\n", section.Title, anchor(section.Title), len(section.Operations), present,
			len(section.Operations)-present)
		total, there = total+len(section.Operations), there+present
	}
	require.Equal(t, there-shared, len(table(t))-len(own)+len(servedElsewhere),
		"the page must list every operation: each is in fixtures/operations/management.json or in ownOperations")
	fmt.Fprintf(&tables, "\n## Not in the specification\n\n| Operation | Reason | Id | Succeeded in |\n|---|---|---|---|\n")
	for _, info := range own {
		fmt.Fprintf(&tables, "| `%s %s` | %s | `%s` | %s |\n", info.Method, info.Path, ownOperations[info.ID], info.ID,
			testNames(seen[info.ID].Tests))
	}
	fmt.Fprintf(&tables, "\n## Log events of operations\n\nThe types of the events that each operation wrote in the tests. "+
		"Its effects on other objects, such as the assignments that a membership causes, are in the same transaction.\n\n| Id | Events "+
		"|\n|---|---|\n")
	for _, id := range seen.Operations() {
		if events := seen[id].Events; len(events) > 0 {
			fmt.Fprintf(&tables, "| `%s` | `%s` |\n", id, strings.Join(slices.Sorted(slices.Values(events)), "`, `"))
		}
	}
	t.Logf("%d of %d specified operations are served, and %d others", there, total, len(own))
	return operationsHead + "\n| Section | Operations | Present | Missing |\n|---|---|---|---|\n" + summary.String() +
		fmt.Sprintf("| **All** | %d | %d | %d |\n", total, there, total-there) + tables.String() + eventsOf(t)
}

// anchor returns the anchor of a heading.
func anchor(title string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// shownTests is the maximum number of tests in a row.
const shownTests = 3

func testNames(tests []string) string {
	tests = slices.Sorted(slices.Values(tests))
	more := ""
	if n := len(tests) - shownTests; n > 0 {
		tests, more = tests[:shownTests], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(tests, ", ") + more
}
