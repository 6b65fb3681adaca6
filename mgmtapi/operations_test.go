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

// ownOperations are served beside those of the specification, each with its reason.
var ownOperations = map[string]string{
	"explainAuthorization":   "who may do what follows from roles, targets, sets, conditions and groups, so that a refusal needs its reasons",
	"getClock":               "who moves a clock has to know where it stands, and how far it is ahead",
	"listProviders":          "the SCIM servers of the sandbox are seen and made where everything else of it is",
	"getProvider":            "the SCIM servers of the sandbox are seen and made where everything else of it is",
	"createProvider":         "the SCIM servers of the sandbox are seen and made where everything else of it is",
	"deleteProvider":         "the SCIM servers of the sandbox are seen and made where everything else of it is",
	"createProviderToken":    "credentials that expire or may only read are needed to see what a client makes of them",
	"deleteProviderToken":    "credentials that expire or may only read are needed to see what a client makes of them",
	"listQuirks":             "a SCIM server deviates at run time, so that one process shows what a client makes of it",
	"replaceQuirks":          "a SCIM server deviates at run time, so that one process shows what a client makes of it",
	"attestSecurityKey":      "no test client has a security key, whose signatures are checked by default",
	"assertSecurityKey":      "no test client has a security key, whose signatures are checked by default",
	"getWork":                "asynchronous work is over too soon to be seen, unless it is held",
	"holdWork":               "asynchronous work is over too soon to be seen, unless it is held",
	"createPolicyRule":       demandsFactors,
	"getPolicyRule":          demandsFactors,
	"replacePolicyRule":      demandsFactors,
	"deletePolicyRule":       demandsFactors,
	"activatePolicyRule":     demandsFactors,
	"deactivatePolicyRule":   demandsFactors,
	"verifySignInFactor":     "a sign-in that is MFA_REQUIRED goes on with a factor",
	"enrollSignInFactor":     "a sign-in that demands a factor of a user who has none has to end somehow",
	"activateSignInFactor":   "a sign-in that demands a factor of a user who has none has to end somehow",
	"previousSignInStep":     "who has chosen a factor that is not at hand chooses another one",
	"introspect":             "the tokens of the org server are credentials as those of the others",
	"revoke":                 "the tokens of the org server are credentials as those of the others",
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
	"createPolicy":           "says that there are no others, where the path alone would say that the method is wrong",
}

const (
	choosesTexts = "the parameter templateId of factor operations selects one of these templates"
	linksLead    = "the links of an application lead to a resource that exists"
)

const demandsFactors = "a sign-in demands a factor where a rule of the sign-on policy says so"

// refusing are operations that never succeed, each with its reason.
var refusing = map[string]string{
	"createPolicy": "there is one policy of each type, which belongs to the system",
}

// outside are the operations of the specification that the sandbox serves without the operation table, with the reason.
var outside = map[string]string{
	"GET /sandbox/v1/health": "needs no credentials, and is answered before there is an API (`cmd/internal/sandbox`)",

	"GET /sandbox/v1/apps/{appId}/tasks":                 controlAPI,
	"POST /sandbox/v1/apps/{appId}/import":               controlAPI,
	"GET /sandbox/v1/apps/{appId}/import/{jobId}":        controlAPI,
	"POST /sandbox/v1/apps/{appId}/tasks/{taskId}/retry": controlAPI,
}

const controlAPI = "served by the engine's control API (`engine/control`)"

// logged says what the log must tell of every operation that changes something.
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

const changesTargets = "who changes what a role is limited to changes what its administrators may do"

const changesRules = "who changes a group rule changes the members of groups"

const changesTexts = "a changed template changes what users receive"

// ownEvents are event types beside those of the specification, each with its reason.
var ownEvents = map[string]string{
	string(audit.GroupOwnerAdd):    "who answers for a group is asked of the log",
	string(audit.GroupOwnerRemove): "who answers for a group is asked of the log",

	string(audit.RuleCreate):     changesRules,
	string(audit.RuleUpdate):     changesRules,
	string(audit.RuleDelete):     changesRules,
	string(audit.RuleActivate):   changesRules,
	string(audit.RuleDeactivate): changesRules,

	string(audit.RoleTargetAdd):       changesTargets,
	string(audit.RoleTargetDelete):    changesTargets,
	string(audit.HardwareTokenCreate): "who may sign in with what is asked of the log",
	string(audit.HardwareTokenDelete): "who may sign in with what is asked of the log",
	string(audit.ConsentRevoke):       "a consent that is withdrawn ends what a client may do",

	string(audit.SMSTemplateCreate): changesTexts,
	string(audit.SMSTemplateUpdate): changesTexts,
	string(audit.SMSTemplateDelete): changesTexts,

	string(audit.OrgRevoke):   "the tokens of the org server end as those of the others",
	string(audit.TokenRefuse): "who tries out tokens, or still uses one that has expired, is what a log is read for",
}

// unlogged are operations that change something and are not told of, each with its reason.
var unlogged = map[string]string{
	"verifyRecoveryToken":    "begins what is told when it is complete",
	"answerRecoveryQuestion": "goes on with what is told when it is complete",
	"previousSignInStep":     "goes back in what is told when it is complete",
	"cancelSignIn":           "ends what is told when it is complete",
	"refreshSession":         "prolongs what was told when it began",
	"refreshCurrentSession":  "prolongs what was told when it began",
	"drainJobs":              "waits, and changes nothing",
	"createPolicy":           "is always refused",
	"deleteMessages":         "the outbox stands for mailboxes, which are no part of the organisation",
	"attestSecurityKey":      "a security key is not part of the organization; the activation that it is for is logged",
	"assertSecurityKey":      "a security key is not part of the organization; the verification that it is for is logged",
	"holdWork":               "what is held is logged when it is done",
	"advanceClock":           "the clock is no part of the organisation",
	"resetSandbox":           "the log goes too",
	"introspect":             "tells, and changes nothing",
	"introspectCustomAS":     "tells, and changes nothing",
	"provisionUsers":         "what the attempts send is logged, as that of jobs",
	"createProvider":         "the SCIM servers of the sandbox are no part of the organisation",
	"deleteProvider":         "the SCIM servers of the sandbox are no part of the organisation",
	"createProviderToken":    "the SCIM servers of the sandbox are no part of the organisation",
	"deleteProviderToken":    "the SCIM servers of the sandbox are no part of the organisation",
	"replaceQuirks":          "the SCIM servers of the sandbox are no part of the organisation",
}

// table is every operation that there can be.
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
		if info := route.Info(); !info.Unsupported {
			out = append(out, info)
		}
	}
	return out
}

var pathVariable = regexp.MustCompile(`\{\w+\}`)

// shape is a route without the names of its variables.
func shape(do string) string { return pathVariable.ReplaceAllString(do, "{}") }

// facts is what the tests of all slices have seen.
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

// TestOperations_SpecifiedAndTested checks that the specification lists each operation and that a test has seen it succeed.
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
		require.Equal(t, refusing[info.ID] == "", len(seen[info.ID].Tests) > 0, "%s: no test has seen it succeed; "+
			"add one and run its package with -update; list an operation that never succeeds in refusing", info.ID)
	}
	for _, id := range slices.Concat(slices.Collect(maps.Keys(ownOperations)), seen.Operations()) {
		require.True(t, there[id], "%s is no operation", id)
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
			require.Empty(t, seen[info.ID].Events, "%s changes nothing", info.ID)
			continue
		}
		changes[info.ID] = true
		want, reason := logged[info.ID], unlogged[info.ID]
		require.NotEqual(t, len(want) > 0, reason != "",
			"%s: name its log events in logged or, with a reason, add it to unlogged, not to both", info.ID)
		for _, event := range want {
			require.Contains(t, seen[info.ID].Events, string(event),
				"%s: no test has seen it write the event; add one and run its package with -update", info.ID)
		}
		if reason != "" {
			require.Empty(t, seen[info.ID].Events, "%s is said not to be told of: %s", info.ID, reason)
		}
		for _, event := range seen[info.ID].Events {
			require.True(t, types[event], "%s wrote an event of the unknown type %s", info.ID, event)
		}
	}
	for _, id := range slices.Concat(slices.Collect(maps.Keys(logged)), slices.Collect(maps.Keys(unlogged))) {
		require.True(t, changes[id], "%s is no operation that changes something", id)
	}
}

// TestEventTypes_SpecifiedAndWritten checks that each event type is specified or has a reason, and that a test has seen it written.
func TestEventTypes_SpecifiedAndWritten(t *testing.T) {
	subjects, err := fixtures.EventTypes()
	require.NoError(t, err)
	specified := map[string]bool{}
	for _, s := range subjects {
		for _, event := range s.Types {
			require.False(t, specified[event], "%s twice", event)
			specified[event] = true
		}
	}
	seen := facts(t)
	written := slices.Clone(seen[apitest.NoOperation].Events)
	for _, id := range seen.Operations() {
		written = append(written, seen[id].Events...)
	}
	for _, event := range audit.Types() {
		require.Contains(t, written, string(event), "no test has seen it written")
		require.NotEqual(t, specified[string(event)], ownEvents[string(event)] != "", "%s is either specified or one of ours with a reason",
			event)
		require.NotEmpty(t, event.Message())
	}
}

// eventsOf is the part of the page about event types: which are written, and which wait for what they tell of.
func eventsOf(t *testing.T) string {
	subjects, err := fixtures.EventTypes()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, event := range audit.Types() {
		known[string(event)] = true
	}
	var out strings.Builder
	out.WriteString("\n## Event types of the system log\n\n| About | Written | Missing |\n|---|---|---|\n")
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
		fmt.Fprintf(&out, "| Beside the specification: %s | `%s` | |\n", ownEvents[event], event)
	}
	return out.String()
}

func TestOperationsDocument_UpToDate(t *testing.T) {
	file := filepath.Join("..", "docs", "generated", "operations.md")
	have := operationsDocument(t)
	goldentest.Check(t, file, have)
}

const operationsHead = `# Operations of the management API

Every operation that the specification of the management API names, by section, with the id that it has in the operation table and
the tests that have seen it succeed. The tests record that themselves (` + "`testdata/operations.txt`" + ` of each package), and
this page is made from the records by ` + "`make golden`" + `. What is not served yet is **missing**.

An operation of the documents A (authorization servers and hooks), B (roles, users and factors) and C (applications) is marked
with its letter. The others fill what these leave open, or are extensions of the sandbox that let behaviour be driven and observed.
A ` + "`GET`" + ` of a hook key by its id and by its key id are two operations of document A on one path.
`

// operationsDocument is docs/generated/operations.md.
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
		fmt.Fprintf(&tables, "\n## %s\n\n| Operation | Subject | Named in | Id | Seen to succeed in |\n|---|---|---|---|---|\n", section.Title)
		present := 0
		for _, o := range section.Operations {
			info, ok := byShape[shape(o.Do)]
			id, tests := "**missing**", ""
			switch {
			case ok:
				if onPage[shape(o.Do)] {
					shared++ // two operations of the specification on one path
				}
				onPage[shape(o.Do)] = true
				id, tests = "`"+info.ID+"`", testNames(seen[info.ID].Tests)
			case outside[o.Do] != "":
				id = outside[o.Do]
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
	require.Equal(t, there-shared, len(table(t))-len(own)+len(outside),
		"the page must list every operation: each is in fixtures/operations/management.json or in ownOperations")
	fmt.Fprintf(&tables, "\n## Beside the specification\n\n| Operation | Why | Id | Seen to succeed in |\n|---|---|---|---|\n")
	for _, info := range own {
		fmt.Fprintf(&tables, "| `%s %s` | %s | `%s` | %s |\n", info.Method, info.Path, ownOperations[info.ID], info.ID,
			testNames(seen[info.ID].Tests))
	}
	fmt.Fprintf(&tables, "\n## What the system log tells\n\nThe types of the events that the tests have seen each operation write. "+
		"What it leads to elsewhere, such as the assignments that a membership gives, is in the same transaction.\n\n| Id | Events "+
		"|\n|---|---|\n")
	for _, id := range seen.Operations() {
		if events := seen[id].Events; len(events) > 0 {
			fmt.Fprintf(&tables, "| `%s` | `%s` |\n", id, strings.Join(slices.Sorted(slices.Values(events)), "`, `"))
		}
	}
	t.Logf("%d of %d operations are there, and %d of our own", there, total, len(own))
	return operationsHead + "\n| Section | Operations | Present | Missing |\n|---|---|---|---|\n" + summary.String() +
		fmt.Sprintf("| **All** | %d | %d | %d |\n", total, there, total-there) + tables.String() + eventsOf(t)
}

// anchor is the address of a heading in a page.
func anchor(title string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// shownTests is how many tests a row names.
const shownTests = 3

func testNames(tests []string) string {
	tests = slices.Sorted(slices.Values(tests))
	more := ""
	if n := len(tests) - shownTests; n > 0 {
		tests, more = tests[:shownTests], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(tests, ", ") + more
}
