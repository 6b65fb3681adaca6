// An identity provider that the daemon queries for the desired state (pull). README.md explains the environment variables.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { apps, call, show, target, version } from './idp.mjs'

const key = randomBytes(32) // a real identity provider stores it
const users = { ann: ['Lee', 'active'], bob: ['Ray', 'active'], eve: ['Fox', 'active'] }
const sales = new Set(['ann', 'eve'])

// query returns the response to a query of the daemon. q has the app and, except for /principals, the id of the user or group.
function query(path, q) {
  if (path === '/user') {
    const [familyName, state] = users[q.id] ?? ['', 'absent']
    const name = { givenName: q.id[0].toUpperCase() + q.id.slice(1), familyName }
    return { state, resource: { userName: `${q.id}@example.com`, externalId: q.id, name } }
  }
  if (path === '/group') return { state: 'active', displayName: 'Sales' }
  if (path === '/is-member') return { members: Object.fromEntries(q.users.map(user => [user, sales.has(user)])) }
  const ids = path === '/members' ? [...sales] : q.kind === 'user' ? Object.keys(users) : ['sales']
  const page = ids.sort().filter(id => id > q.after).slice(0, q.limit) // of ASCII characters; otherwise compare the UTF-8 bytes
  const more = page.length > 0 && page.at(-1) !== ids.at(-1)
  return path === '/members' ? { members: page, more, total: ids.length } : { kind: q.kind, ids: page, more }
}

// valid reports whether the daemon has signed a request in the last five minutes.
function valid(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures = '' } = headers
  const want = Buffer.from('v1,' + createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64'))
  const signed = signatures.split(' ').map(text => Buffer.from(text)).some(s => s.length === want.length && timingSafeEqual(s, want))
  return signed && Math.abs(Date.now() / 1000 - time) < 300
}

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  if (!valid(request.headers, body)) return response.writeHead(401).end()
  const q = JSON.parse(body)
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ app: q.app, id: q.id, ...query(request.url, q) }))
})
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
const pull = { url: `http://127.0.0.1:${server.address().port}`, secrets: ['whsec_' + key.toString('base64')] }
for (const app of apps) {
  await call('PUT', `/apps/${app.id}`, { version: version(), target: target(app), pull })
  await call('POST', `/apps/${app.id}/reconcile`) // marks all users and groups that the endpoint lists
  await show(app.id)
}
Object.assign(users, { bob: ['Stone', 'active'], eve: ['Fox', 'inactive'] })
sales.add('bob').delete('eve')
for (const { id } of apps) {
  const marks = [{ kind: 'user', id: 'bob' }, { kind: 'user', id: 'eve' }, { kind: 'group', id: 'sales', members: ['bob', 'eve'] }]
  await call('POST', `/apps/${id}/marks`, { marks })
  await show(id)
}
server.close()
server.closeAllConnections()
