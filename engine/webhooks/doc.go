// Package webhooks delivers the lifecycle events of the engine to HTTP endpoints, as the specification Standard Webhooks describes: POST
// requests with an id, a time and a signature.
//
// A [Service] has its endpoints and their progress in tables of the embedder's database. It reads the events from the store of the engine:
//
//	var hooks *webhooks.Service
//	store, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: d, Recorded: func(app string) { hooks.Wake(app) }})
//	hooks, err = webhooks.Open(ctx, db, webhooks.Options{Dialect: d, Source: store, Seal: key})
//	err = hooks.Start(ctx)
//	endpoint, secret, err := hooks.Create(ctx, webhooks.Endpoint{App: "crm", URL: "https://hooks.example.com/crm"}, webhooks.CreateOptions{})
//
// # Guarantees
//
//   - Each event is delivered at least once, or reported: as a dead letter ([Service.Letters]), or in a message of the type [Missed]. A
//     repeated message has the same header webhook-id.
//   - The first successful deliveries of the events of one user or group have the order of the events. The same holds for the events of an
//     app itself. A dead letter is skipped: later events follow. The order of the events of different users and groups may change.
//   - A crash, a kill or a takeover by another process changes neither.
//   - An endpoint that is slow or broken does not delay other endpoints. A message that an endpoint rejects delays only later messages of
//     the same user or group.
//
// # Deliveries
//
// A response with a status 2xx within Options.Timeout is a success. After any other response, also a redirect, and without a response, the
// message becomes a letter, which is sent again after a growing delay. If the response has the header Retry-After, the endpoint gets no
// message before that time. After Options.Attempts the letter is a dead one, which is kept until it is replayed or too old. After
// Options.HoldAfter consecutive failures of different messages, the endpoint gets only one message at a time until it responds with a
// success. The other events then wait in the store of the engine, which keeps a limited number of them (sqlstore.Options.KeepEvents). A
// response 410 disables the endpoint, and so does the time Options.DisableAfter without a success.
//
// Processes that share the database share the endpoints: each endpoint has one owner, which holds a lease. When a process dies, another one
// takes its endpoints over after Options.Lease.
//
// # Tables
//
// The tables have the prefix or schema of engine/sqlstore and can share its database: webhook_endpoint, webhook_cursor and webhook_letter.
// Their columns are not part of the API. The table steps, which these packages share, contains the applied steps of the schema.
package webhooks

// endpoint.go and letter.go have the methods of callers. manage.go has the leases, worker.go the loop of an endpoint, round.go one round of
// it: reading, sending, counting. commit.go stores the results of a round: letters with the times of their next attempts, dead letters, and
// whether the endpoint is on hold or disabled. send.go has the requests and the delays, message.go the content of the requests, webhooks.go
// the options and defaults. To add a column, append a step in schema.go.
