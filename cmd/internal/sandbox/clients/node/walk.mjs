// Runs typical operations of an administrator with the Node client library. The two arguments are the base URL and the API token of a
// sandbox. The output has the format of the Go programs: the result of each step.
import okta from '@okta/okta-sdk-nodejs';
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import * as jose from 'jose';
import * as oidc from 'openid-client';

const [orgUrl, token] = process.argv.slice(2);
const client = new okta.Client({ orgUrl, token, cacheMiddleware: null });
const password = 'Correct-horse-7-battery';
const count = { steps: 0, failed: 0, unserved: 0 };

async function step(name, work) {
  count.steps++;
  try {
    await work();
    console.log(`ok ${name}`);
  } catch (e) {
    // An unknown path or kind of application does not count as a failure.
    if (e.errorCode === 'E0000008' || e.message.includes('applications are not served')) {
      count.unserved++;
      console.log(`UNSERVED ${name}: ${e.message}`);
    } else {
      count.failed++;
      console.log(`FAILED ${name}: ${(e.errorCauses ?? []).reduce((text, cause) => `${text}; ${cause.errorSummary}`, e.message)}`);
    }
  }
}

async function all(collection, limit = 1000) {
  const out = [];
  for await (const item of await collection) {
    out.push(item);
    if (out.length >= limit) break;
  }
  return out;
}

const refused = (promise, errorCode) => assert.rejects(promise, e => {
  assert.equal(e.errorCode, errorCode);
  return true;
});
const profile = (login, firstName) => ({ login, email: login, firstName, lastName: 'Node' });
const { userApi, groupApi, applicationApi, userTypeApi, schemaApi, profileMappingApi, systemLogApi, apiTokenApi } = client;
const status = async (userId, want) => assert.equal((await userApi.getUser({ userId })).status, want);
let ada, ben, group, rule, type;

await step('create a user with a password and a recovery question', async () => {
  ada = await userApi.createUser({ activate: true, body: {
    profile: profile('ada@node.example.com', 'Ada'),
    credentials: { password: { value: password }, recovery_question: { question: 'Where was it?', answer: 'by the old mill' } },
  } });
  await status(ada.id, 'ACTIVE');
});
await step('create a staged user without credentials', async () => {
  ben = await userApi.createUser({ activate: false, body: { profile: profile('ben@node.example.com', 'Ben') } });
  assert.equal(ben.status, 'STAGED');
  assert.ok(ben.created instanceof Date && !Number.isNaN(ben.created.getTime()));
});
await step('create a user with an imported hash', async () => {
  await userApi.createUser({ body: { profile: profile('hash@node.example.com', 'Hash'), credentials: { password: { hash: {
    algorithm: 'BCRYPT', workFactor: 10, salt: 'rwh3vH166HCH/NT9XV5FYu', value: 'qaMqvAPULkbiQzkTCWo5XDcvzpk8Tna',
  } } } } });
});
await step('reject a duplicate login', () => refused(userApi.createUser({ body: { profile: profile('ADA@node.example.com', 'Twice') } }), 'E0000001'));
await step('get a user by login', async () => assert.equal((await userApi.getUser({ userId: 'ada@node.example.com' })).id, ada.id));
await step('list users page by page', async () => {
  const users = await all(userApi.listUsers({ limit: 2 }));
  assert.ok(users.length > 2);
  assert.equal(new Set(users.map(u => u.id)).size, users.length);
});
for (const [name, how] of Object.entries({
  'search for users': { search: 'profile.lastName eq "node" and status eq "ACTIVE"', sortBy: 'profile.login', sortOrder: 'desc' },
  'filter users': { filter: 'profile.login eq "ada@node.example.com"' },
  'find users by q': { q: 'ada' },
})) {
  await step(name, async () => assert.ok((await all(userApi.listUsers(how))).some(u => u.id === ada.id)));
}
await step('update the user that was read', async () => {
  const user = await userApi.getUser({ userId: ada.id });
  user.profile.nickName = 'Countess';
  assert.equal((await userApi.updateUser({ userId: ada.id, user })).profile.nickName, 'Countess');
});
await step('replace the user that was read', async () => {
  const user = await userApi.getUser({ userId: ada.id });
  user.profile.title = 'Analyst';
  const replaced = await userApi.replaceUser({ userId: ada.id, user });
  assert.equal(replaced.profile.title, 'Analyst');
  assert.equal(replaced.profile.nickName, 'Countess');
});
await step('activate a user and get the token', async () => {
  const activated = await userApi.activateUser({ userId: ben.id, sendEmail: false });
  assert.ok(activated.activationToken);
  await status(ben.id, 'PROVISIONED');
});
await step('reactivate a user', async () => assert.ok((await userApi.reactivateUser({ userId: ben.id, sendEmail: false })).activationToken));
await step('suspend and unsuspend a user', async () => {
  await userApi.suspendUser({ userId: ada.id });
  await status(ada.id, 'SUSPENDED');
  await userApi.unsuspendUser({ userId: ada.id });
  await status(ada.id, 'ACTIVE');
});
await step('reject the unlock of a user who is not active', () => refused(userApi.unlockUser({ userId: ben.id }), 'E0000032'));
await step('reset the factors of a user', () => userApi.resetFactors({ userId: ada.id }));
await step('revoke the sessions of a user', () => userApi.revokeUserSessions({ userId: ada.id }));
await step('list the blocks of a user', () => all(userApi.listUserBlocks({ userId: ada.id })));
await step('list the application links of a user', () => all(userApi.listAppLinks({ userId: ada.id })));
await step('list the clients of a user', () => all(userApi.listUserClients({ userId: ada.id })));
await step('list the grants of a user', () => all(userApi.listUserGrants({ userId: ada.id })));
await step('get an unknown user', () => refused(userApi.getUser({ userId: 'nobody@node.example.com' }), 'E0000007'));

await step('change a password', () => userApi.changePassword({ userId: ada.id, changePasswordRequest: {
  oldPassword: { value: password }, newPassword: { value: `${password}-2` },
} }));
await step('reject a password change with a wrong password', () => refused(userApi.changePassword({ userId: ada.id, changePasswordRequest: {
  oldPassword: { value: 'not it' }, newPassword: { value: `${password}-3` },
} }), 'E0000014'));
await step('change a recovery question', async () => {
  const credentials = await userApi.changeRecoveryQuestion({ userId: ada.id, userCredentials: {
    password: { value: `${password}-2` }, recovery_question: { question: 'Which bird?', answer: 'a grey heron' },
  } });
  assert.equal(credentials.recovery_question.question, 'Which bird?');
});
await step('forgotten password: get a link', async () => assert.ok((await userApi.forgotPassword({ userId: ada.id, sendEmail: false })).resetPasswordUrl));
await step('forgotten password: answer the question', () => userApi.forgotPasswordSetNewPassword({ userId: ada.id, userCredentials: {
  password: { value: `${password}-4` }, recovery_question: { answer: 'a grey heron' },
} }));
await step('reset a password', async () => {
  assert.ok((await userApi.generateResetPasswordToken({ userId: ada.id, sendEmail: false })).resetPasswordUrl);
  await status(ada.id, 'RECOVERY');
});
await step('set a password with an update', () => userApi.updateUser({ userId: ada.id, user: { credentials: { password: { value: `${password}-5` } } } }));
await step('expire passwords', async () => {
  const late = await userApi.createUser({ body: { profile: profile('late@node.example.com', 'Late'), credentials: { password: { value: password } } } });
  assert.equal((await userApi.expirePassword({ userId: late.id })).status, 'PASSWORD_EXPIRED');
  // The library decodes the response as a user and drops the password.
  await userApi.expirePasswordAndGetTemporaryPassword({ userId: late.id });
});

await step('create, read and replace a group', async () => {
  group = await groupApi.createGroup({ group: { profile: { name: 'Analysts of Node', description: 'count' } } });
  assert.equal((await groupApi.getGroup({ groupId: group.id })).profile.name, 'Analysts of Node');
  await groupApi.replaceGroup({ groupId: group.id, group: { profile: { name: 'Counters of Node', description: 'count' } } });
});
await step('list groups page by page', async () => assert.ok((await all(groupApi.listGroups({ limit: 1 }))).length > 1));
await step('find groups by q, search and filter', async () => {
  for (const how of [{ q: 'Counters of Node' }, { search: 'profile.name eq "Counters of Node"' }, { filter: `id eq "${group.id}"` }]) {
    assert.equal((await all(groupApi.listGroups(how))).length, 1, JSON.stringify(how));
  }
});
await step('add members to a group, list them, remove one', async () => {
  await groupApi.assignUserToGroup({ groupId: group.id, userId: ada.id });
  await groupApi.assignUserToGroup({ groupId: group.id, userId: ben.id });
  assert.equal((await all(groupApi.listGroupUsers({ groupId: group.id, limit: 1 }))).length, 2);
  await groupApi.unassignUserFromGroup({ groupId: group.id, userId: ben.id });
});
await step('list the groups of a user', async () => assert.equal((await all(userApi.listUserGroups({ userId: ada.id }))).length, 2));
await step('add, list and remove an owner of a group', async () => {
  const owner = await groupApi.assignGroupOwner({ groupId: group.id, GroupOwner: { id: ada.id, type: 'USER' } });
  assert.equal((await all(groupApi.listGroupOwners({ groupId: group.id }))).length, 1);
  await groupApi.deleteGroupOwner({ groupId: group.id, ownerId: owner.id });
});
await step('read and change the schema of groups', async () => {
  await schemaApi.getGroupSchema({});
  await schemaApi.updateGroupSchema({ GroupSchema: { definitions: { custom: { id: '#custom', type: 'object', properties: { costCenterNode: { title: 'Cost center', type: 'string' } } } } } });
});

await step('create and replace a group rule', async () => {
  rule = await groupApi.createGroupRule({ groupRule: {
    type: 'group_rule', name: 'All of Node',
    conditions: { expression: { type: 'urn:svc:expression:1.0', value: 'user.lastName=="Node"' } },
    actions: { assignUserToGroups: { groupIds: [group.id] } },
  } });
  rule.name = 'All of the Node walk';
  rule = await groupApi.replaceGroupRule({ ruleId: rule.id, groupRuleId: rule.id, groupRule: rule });
});
await step('activate, list, read, deactivate and delete a group rule', async () => {
  const id = { ruleId: rule.id, groupRuleId: rule.id };
  await groupApi.activateGroupRule(id);
  assert.equal((await all(groupApi.listGroupRules({ search: 'All of' }))).length, 1);
  assert.equal((await groupApi.getGroupRule(id)).status, 'ACTIVE');
  await groupApi.deactivateGroupRule(id);
  await groupApi.deleteGroupRule({ ...id, removeUsers: true });
});

await step('create, list, read, change and replace user types', async () => {
  type = await userTypeApi.createUserType({ userType: { name: 'guestNode', displayName: 'Guest', description: 'comes and goes' } });
  assert.ok((await all(userTypeApi.listUserTypes())).length > 1);
  await userTypeApi.getUserType({ typeId: type.id });
  await userTypeApi.updateUserType({ typeId: type.id, userType: { displayName: 'Visitor' } });
  const replaced = await userTypeApi.replaceUserType({ typeId: type.id, userType: { name: 'guestNode', displayName: 'Visitor', description: 'seldom' } });
  assert.equal(replaced.description, 'seldom');
});
await step('read and change the schema of users', async () => {
  await schemaApi.getUserSchema({ schemaId: 'default' });
  const schema = await schemaApi.updateUserProfile({ schemaId: 'default', userSchema: { definitions: { custom: { id: '#custom', type: 'object', properties: {
    badgeNode: { title: 'Badge', type: 'string', minLength: 1, maxLength: 20, permissions: [{ principal: 'SELF', action: 'READ_WRITE' }] },
  } } } } });
  assert.ok(schema.definitions.custom.properties.badgeNode);
});
await step('set a custom attribute of a user', async () => {
  const user = await userApi.updateUser({ userId: ada.id, user: { profile: { badgeNode: 'A-1' } } });
  assert.equal(user.profile.badgeNode, 'A-1');
});
await step('delete a user type', () => userTypeApi.deleteUserType({ typeId: type.id }));

const applications = {
  bookmark: { name: 'bookmark', signOnMode: 'BOOKMARK', settings: { app: { requestIntegration: false, url: 'https://example.com/bookmark.htm' } } },
  basic: { name: 'template_basic_auth', signOnMode: 'BASIC_AUTH', settings: { app: { url: 'https://example.com/auth.htm', authURL: 'https://example.com/login.html' } } },
  SWA: { name: 'template_swa', signOnMode: 'BROWSER_PLUGIN', settings: { app: {
    buttonField: 'btn-login', passwordField: 'txtbox-password', usernameField: 'txtbox-username', url: 'https://example.com/login.html' } } },
  'three-field SWA': { name: 'template_swa3field', signOnMode: 'BROWSER_PLUGIN', settings: { app: {
    buttonSelector: '#btn', passwordSelector: '#pw', userNameSelector: '#user', targetURL: 'https://example.com/login', extraFieldSelector: '.login', extraFieldValue: 'SOME' } } },
  'password store': { name: 'template_sps', signOnMode: 'SECURE_PASSWORD_STORE', settings: { app: { url: 'https://example.com/login.html', usernameField: '#user', passwordField: '#pw' } } },
  'auto login': { signOnMode: 'AUTO_LOGIN', settings: { signOn: { loginUrl: 'https://example.com/login', redirectUrl: 'https://example.com/home' } } },
  SAML: { signOnMode: 'SAML_2_0', settings: { signOn: {
    ssoAcsUrl: 'https://example.com/acs', recipient: 'https://example.com/acs', destination: 'https://example.com/acs', audience: 'urn:example:sp',
    subjectNameIdTemplate: '${user.userName}', subjectNameIdFormat: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified', responseSigned: true, assertionSigned: true,
    signatureAlgorithm: 'RSA_SHA256', digestAlgorithm: 'SHA256', honorForceAuthn: true,
    authnContextClassRef: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport' } } },
  OIDC: { name: 'oidc_client', signOnMode: 'OPENID_CONNECT', credentials: { oauthClient: { autoKeyRotation: true, token_endpoint_auth_method: 'client_secret_post' } }, settings: { oauthClient: {
    application_type: 'web', client_uri: 'https://example.com', redirect_uris: ['https://example.com/callback'], response_types: ['code'], grant_types: ['authorization_code', 'refresh_token'] } } },
};
let bookmark;
for (const [name, body] of Object.entries(applications)) {
  await step(`create, read and write back an application: ${name}`, async () => {
    const application = { label: `${name} of Node`, ...body };
    const { id: appId } = await applicationApi.createApplication({ application, activate: true });
    const read = await applicationApi.getApplication({ appId });
    assert.equal(read.label, application.label);
    await applicationApi.replaceApplication({ appId, application: read });
    if (name === 'bookmark') {
      bookmark = appId;
      return;
    }
    await applicationApi.deactivateApplication({ appId });
    await applicationApi.activateApplication({ appId });
    await applicationApi.deactivateApplication({ appId });
    await applicationApi.deleteApplication({ appId });
  });
}
await step('list applications page by page', async () => assert.ok((await all(applicationApi.listApplications({ limit: 1 }))).length > 1));
await step('filter applications', async () => {
  assert.equal((await all(applicationApi.listApplications({ filter: 'name eq "bookmark"' }))).length, 1);
  assert.equal((await all(applicationApi.listApplications({ q: 'bookmark of Node' }))).length, 1);
});
await step('read and create keys of an application', async () => {
  const { id: appId } = await applicationApi.createApplication({ application: { label: 'SAML with keys of Node', ...applications.SAML } });
  const key = await applicationApi.generateApplicationKey({ appId, validityYears: 3 });
  const keys = await all(applicationApi.listApplicationKeys({ appId }));
  assert.equal(keys.length, 2);
  assert.equal((await applicationApi.getApplicationKey({ appId, keyId: key.kid })).kid, key.kid);
});

await step('assign a user to an application', async () => {
  assert.equal((await applicationApi.assignUserToApplication({ appId: bookmark, appUser: { id: ben.id, scope: 'USER' } })).id, ben.id);
});
await step('read, update and list the users of an application', async () => {
  await applicationApi.getApplicationUser({ appId: bookmark, userId: ben.id, expand: 'user' });
  const updated = await applicationApi.updateApplicationUser({ appId: bookmark, userId: ben.id, appUser: { credentials: { userName: 'benny' } } });
  assert.equal(updated.credentials.userName, 'benny');
  assert.equal((await all(applicationApi.listApplicationUsers({ appId: bookmark }))).length, 1);
});
await step('assign a group without a body, and with a priority', async () => {
  await applicationApi.assignGroupToApplication({ appId: bookmark, groupId: group.id });
  await applicationApi.assignGroupToApplication({ appId: bookmark, groupId: group.id, applicationGroupAssignment: {} });
  const a = await applicationApi.assignGroupToApplication({ appId: bookmark, groupId: group.id, applicationGroupAssignment: { priority: 3 } });
  assert.equal(typeof a.priority, 'number');
});
await step('read and list the groups of an application', async () => {
  await applicationApi.getApplicationGroupAssignment({ appId: bookmark, groupId: group.id });
  assert.equal((await all(applicationApi.listApplicationGroupAssignments({ appId: bookmark }))).length, 1);
  assert.equal((await all(groupApi.listAssignedApplicationsForGroup({ groupId: group.id }))).length, 1);
});
await step('a member of the group has the application', async () => {
  assert.equal((await applicationApi.getApplicationUser({ appId: bookmark, userId: ada.id })).scope, 'GROUP');
});
await step('remove the assignments', async () => {
  await applicationApi.unassignUserFromApplication({ appId: bookmark, userId: ben.id });
  await applicationApi.unassignApplicationFromGroup({ appId: bookmark, groupId: group.id });
});
await step('read and change the schema of an application', async () => {
  await schemaApi.getApplicationUserSchema({ appInstanceId: bookmark, appId: bookmark });
  const schema = await schemaApi.updateApplicationUserProfile({ appInstanceId: bookmark, appId: bookmark, body: { definitions: { custom: { id: '#custom', type: 'object', properties: {
    shoeNode: { title: 'Shoe', type: 'string' },
  } } } } });
  assert.ok(schema.definitions.custom.properties.shoeNode);
});
await step('list, read and change a profile mapping', async () => {
  const [mapping] = await all(profileMappingApi.listProfileMappings({ sourceId: bookmark }));
  assert.ok(mapping, 'the application has a mapping');
  await profileMappingApi.getProfileMapping({ mappingId: mapping.id });
  await profileMappingApi.updateProfileMapping({ mappingId: mapping.id, profileMapping: { properties: { nickName: { expression: 'appuser.userName', pushStatus: 'PUSH' } } } });
});
await step('read the connection and the features of an application', async () => {
  const app = (await all(applicationApi.listApplications({ limit: 200 }))).find(a => a.features?.length > 0);
  assert.ok(app, 'there is one');
  const appId = app.id;
  assert.equal((await applicationApi.getDefaultProvisioningConnectionForApplication({ appId })).status, 'ENABLED');
  assert.ok((await all(applicationApi.listFeaturesForApplication({ appId }))).length > 0);
  const feature = await applicationApi.getFeatureForApplication({ appId, featureName: 'USER_PROVISIONING', name: 'USER_PROVISIONING' });
  await applicationApi.updateFeatureForApplication({ appId, featureName: 'USER_PROVISIONING', name: 'USER_PROVISIONING',
    updateFeatureForApplicationRequest: feature.capabilities, CapabilitiesObject: feature.capabilities });
});

await step('read the log page by page', async () => {
  // As strings: the library formats a Date with Date.toString.
  const at = hours => new Date(Date.now() + hours * 3600 * 1000).toISOString();
  const events = await all(systemLogApi.listLogEvents({ since: at(-1), until: at(1), limit: 20 }));
  assert.ok(events.length > 20);
  for (const e of events) assert.ok(e.published && e.eventType && e.actor);
});
await step('filter the log', async () => {
  const events = await all(systemLogApi.listLogEvents({ filter: `eventType eq "user.lifecycle.create" and target.id eq "${ada.id}"`, until: new Date().toISOString() }));
  assert.equal(events.length, 1);
});
await step('list and read API tokens', async () => {
  const [one] = await all(apiTokenApi.listApiTokens());
  await apiTokenApi.getApiToken({ apiTokenId: one.id });
});
await step('delete all created objects', async () => {
  await groupApi.deleteGroup({ groupId: group.id });
  await applicationApi.deactivateApplication({ appId: bookmark });
  await applicationApi.deleteApplication({ appId: bookmark });
  for (const userId of [ada.id, ben.id]) {
    await userApi.deactivateUser({ userId });
    await status(userId, 'DEPROVISIONED');
    await userApi.deleteUser({ userId });
  }
});

// Tests roles, authorization servers and hooks. by names the kind of credentials.
async function administration(by, { userApi, groupApi, customRoleApi, resourceSetApi, roleAssignmentApi, roleTargetApi, authorizationServerApi, inlineHookApi, hookKeyApi }) {
  const label = `Desk of node, ${by}`;
  let admin, group, role, set, server, hook, key;
  await step(`assign a standard role with a target (${by})`, async () => {
    admin = (await userApi.createUser({ body: { profile: profile(`desk-${by}@node.example.com`, 'Desk') } })).id;
    group = (await groupApi.createGroup({ group: { profile: { name: label } } })).id;
    const given = await roleAssignmentApi.assignRoleToUser({ userId: admin, assignRoleRequest: { type: 'USER_ADMIN' } });
    await roleTargetApi.assignGroupTargetToUserRole({ userId: admin, roleId: given.id, groupId: group });
    assert.equal((await all(roleTargetApi.listGroupTargetsForRole({ userId: admin, roleId: given.id }))).length, 1);
    assert.equal((await all(roleAssignmentApi.listAssignedRolesForUser({ userId: admin }))).length, 1);
  });
  await step(`create and bind a custom role and a resource set (${by})`, async () => {
    role = (await customRoleApi.createRole({ instance: { label, description: 'x', permissions: ['svc.users.read', 'svc.groups.manage'] } })).id;
    set = (await resourceSetApi.createResourceSet({ instance: { label, description: 'x', resources: ['/api/v1/users', `/api/v1/groups/${group}`] } })).id;
    await resourceSetApi.createResourceSetBinding({ resourceSetId: set, instance: { role, members: [`/api/v1/users/${admin}`] } });
    assert.equal((await resourceSetApi.listMembersOfBinding({ resourceSetId: set, roleIdOrLabel: role })).members.length, 1);
    assert.equal((await resourceSetApi.listResourceSetResources({ resourceSetId: set })).resources.length, 2);
    assert.ok((await customRoleApi.listRoles()).roles.length > 0);
  });
  await step(`create an authorization server with a scope, a policy and a rule (${by})`, async () => {
    server = (await authorizationServerApi.createAuthorizationServer({ authorizationServer: { name: label, description: 'd', audiences: ['api://node'] } })).id;
    await authorizationServerApi.createOAuth2Scope({ authServerId: server, oAuth2Scope: { name: 'orders' } });
    const policy = await authorizationServerApi.createAuthorizationServerPolicy({ authServerId: server, policy: {
      type: 'OAUTH_AUTHORIZATION_POLICY', name: 'P', description: 'd', priority: 1, conditions: { clients: { include: ['ALL_CLIENTS'] } },
    } });
    const rule = await authorizationServerApi.createAuthorizationServerPolicyRule({ authServerId: server, policyId: policy.id, policyRule: {
      type: 'RESOURCE_ACCESS', name: 'R', priority: 1,
      conditions: { people: { groups: { include: ['EVERYONE'] } }, grantTypes: { include: ['client_credentials'] }, scopes: { include: ['*'] } },
      actions: { token: { accessTokenLifetimeMinutes: 60 } },
    } });
    assert.equal(rule.status, 'ACTIVE');
    assert.equal((await all(authorizationServerApi.listAuthorizationServers({ q: label }))).length, 1);
  });
  await step(`create a hook key and an inline hook that uses it (${by})`, async () => {
    key = await hookKeyApi.createHookKey({ keyRequest: { name: label } });
    assert.equal((await hookKeyApi.getPublicKey({ keyId: key.keyId })).kty, 'RSA');
    hook = (await inlineHookApi.createInlineHook({ inlineHook: { name: label, type: 'com.svc.oauth2.tokens.transform', version: '1.0.0', channel: {
      type: 'HTTP', version: '1.0.0', config: { uri: 'https://hooks.example.com/node', method: 'POST', authScheme: { type: 'HEADER', key: 'X-Key', value: 'secret' } },
    } } })).id;
    assert.ok((await all(inlineHookApi.listInlineHooks())).length > 0);
  });
  await step(`delete the roles, hooks and authorization servers (${by})`, async () => {
    await refused(inlineHookApi.deleteInlineHook({ inlineHookId: hook }), 'E0000001');
    await refused(customRoleApi.deleteRole({ roleIdOrLabel: role }), 'E0000001');
    await inlineHookApi.deactivateInlineHook({ inlineHookId: hook });
    await inlineHookApi.deleteInlineHook({ inlineHookId: hook });
    await hookKeyApi.deleteHookKey({ hookKeyId: key.id });
    await resourceSetApi.deleteResourceSet({ resourceSetId: set });
    await customRoleApi.deleteRole({ roleIdOrLabel: role });
    await authorizationServerApi.deleteAuthorizationServer({ authServerId: server });
    await groupApi.deleteGroup({ groupId: group });
  });
}

// Registers a service application with the role SUPER_ADMIN, and returns it with a client of the library that uses its credentials.
async function robot() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const send = async (path, body) => {
    const res = await fetch(orgUrl + path, { method: 'POST', headers: { Authorization: `SSWS ${token}`, 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    assert.ok(res.ok, `${path}: ${res.status}`);
    return res.json();
  };
  const scopes = ['svc.roles.manage', 'svc.authorizationServers.manage', 'svc.inlineHooks.manage', 'svc.users.manage', 'svc.groups.manage'];
  const { client_id: clientId } = await send('/oauth2/v1/clients', {
    client_name: 'Robot', application_type: 'service', grant_types: ['client_credentials'], response_types: ['token'], token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'robot', use: 'sig' }] },
  });
  for (const scopeId of scopes) await send(`/api/v1/apps/${clientId}/grants`, { scopeId, issuer: orgUrl });
  await send(`/oauth2/v1/clients/${clientId}/roles`, { type: 'SUPER_ADMIN' });
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' });
  return { clientId, pem, client: new okta.Client({ orgUrl, clientId, scopes, authorizationMode: 'PrivateKey', keyId: 'robot', cacheMiddleware: null, privateKey: pem }) };
}

// A generic OpenID Connect client: it discovers a server, gets a token with the metadata alone, and verifies the token with the published keys.
async function discover(path, { clientId, pem }, scope, audience) {
  const key = await jose.importPKCS8(pem, 'RS256');
  const config = await oidc.discovery(new URL(orgUrl + path), clientId, undefined, oidc.PrivateKeyJwt({ key, kid: 'robot' }),
    { execute: [oidc.allowInsecureRequests] });
  const metadata = config.serverMetadata();
  assert.equal(metadata.issuer, orgUrl + path);
  const { access_token: token } = await oidc.clientCredentialsGrant(config, { scope });
  const keys = jose.createRemoteJWKSet(new URL(metadata.jwks_uri));
  const { payload } = await jose.jwtVerify(token, keys, { issuer: orgUrl + path, audience, algorithms: ['RS256'], requiredClaims: ['exp', 'iat', 'jti', 'cid'] });
  assert.equal(payload.cid, clientId);
  await assert.rejects(jose.jwtVerify(`${token.slice(0, -6)}AAAAAA`, keys));
  assert.equal((await oidc.tokenIntrospection(config, token)).active, true);
  await oidc.tokenRevocation(config, token);
  assert.equal((await oidc.tokenIntrospection(config, token)).active, false);
}

await administration('SSWS', client);
const machine = await robot();
await administration('private_key_jwt', machine.client);
await step('an OpenID Connect client discovers the default server, and verifies, introspects and revokes its token', async () => {
  await client.authorizationServerApi.createOAuth2Scope({ authServerId: 'default', oAuth2Scope: { name: 'orders' } });
  await discover('/oauth2/default', machine, 'orders', 'api://default');
});
await step('an OpenID Connect client discovers the org server, and verifies, introspects and revokes its token', () => discover('', machine, 'svc.users.manage', orgUrl));

await step('reject an invalid access token', async () => {
  const { clientId, pem } = machine;
  const other = new okta.Client({ orgUrl, clientId, scopes: ['svc.users.read'], authorizationMode: 'PrivateKey', cacheMiddleware: null, privateKey: pem });
  other.oauth.accessToken = { access_token: 'nonsense' };
  await assert.rejects(other.userApi.getUser({ userId: 'me' }), e => {
    assert.deepEqual([e.status, e.errorCode, e.errorLink], [401, 'E0000011', 'E0000011']);
    assert.ok(e.errorId && e.errorSummary);
    return true;
  });
});

console.log(`${count.steps} steps, ${count.failed} failed, ${count.unserved} not served`);
process.exitCode = count.failed > 0 ? 1 : 0;
