// An identity provider that provisions apps through the daemon of scimwright. README.md explains the environment variables.
const { ENGINE_URL, ENGINE_TOKEN, APPS = 'crm,wiki' } = process.env
const setting = (id, name) => process.env[`${id.toUpperCase()}_${name}`]
export const apps = APPS.split(',').map(id => ({ id, url: setting(id, 'URL'), secret: setting(id, 'TOKEN') }))

let last = Date.now() // ascends over all runs; with a database, use a sequence or a revision
export const version = () => ++last

// call sends a request to the daemon. All writes have a version, so a write that failed can be repeated unchanged.
export async function call(method, path, body) {
  const batch = Array.isArray(body) // one JSON object in each line
  const response = await fetch(ENGINE_URL + path, {
    method,
    headers: { Authorization: `Bearer ${ENGINE_TOKEN}`, 'Content-Type': batch ? 'application/x-ndjson' : 'application/json' },
    body: batch ? body.map(line => JSON.stringify(line)).join('\n') : JSON.stringify(body),
    signal: AbortSignal.timeout(90_000),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

const user = (name, familyName, want = 'active') => ({
  version: version(), want,
  resource: { userName: `${name}@example.com`, externalId: name, name: { givenName: name[0].toUpperCase() + name.slice(1), familyName } },
})

// show waits until nothing is pending and prints the states of the users and groups.
export async function show(app) {
  const { lag } = await call('POST', `/apps/${app}/wait?timeoutSeconds=60`)
  console.log(`${app}: pending ${lag.due}, failed ${lag.failed}, blocked ${lag.held}`)
  for (const { kind, id, state } of await call('GET', `/apps/${app}/principals`))
    console.log(`  ${kind} ${id}: ${state.want}, ${state.status} after ${state.operation}`)
}

export const target = ({ url, secret }) =>
  ({ baseUrl: url, auth: { secret }, pushGroups: true, createUsers: true, updateUsers: true, deactivateUsers: true })

for (const { id: app, url, secret } of process.argv[1].endsWith('idp.mjs') ? apps : []) { // pull.mjs imports the functions above
  await call('PUT', `/apps/${app}`, { version: version(), target: target({ url, secret }) })
  const users = [['ann', 'Lee'], ['bob', 'Ray'], ['eve', 'Fox']].map(([id, family]) => ({ op: 'putUser', id, ...user(id, family) }))
  const group = { op: 'putGroup', id: 'sales', version: version(), want: 'active', displayName: 'Sales' }
  const members = { op: 'putMembers', id: 'sales', version: version(), members: ['ann', 'eve'] }
  const report = await call('POST', `/apps/${app}/batch`, [...users, group, members])
  console.log(`${app}: ${report.applied} of ${report.lines} lines applied, ${report.failed} failed`)
  await show(app)
  await call('PUT', `/apps/${app}/users/bob`, user('bob', 'Stone')) // a change
  await call('PUT', `/apps/${app}/users/eve`, user('eve', 'Fox', 'inactive')) // a deactivation
  await call('PATCH', `/apps/${app}/groups/sales/members`, { base: members.version, version: version(), add: ['bob'], remove: ['eve'] })
  await show(app)
}
