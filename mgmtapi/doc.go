// Package mgmtapi is a management API for embedders: users, groups, applications, assignments and what is to be provisioned, in tables of an
// embedder's SQLite or PostgreSQL database.
//
//	db, err := sql.Open("pgx", dsn)
//	api, err := mgmtapi.Open(ctx, mgmtapi.Options{DB: db, Dialect: mgmtapi.Postgres, Secrets: key, BaseURL: "https://id.example.com"})
//	err = api.Setup(ctx, mgmtapi.Setup{Token: token})
//	go api.Run(ctx)
//	http.Handle("/", api)
//
// The drivers are the embedder's: this package imports none. The examples show both.
//
// The API records what is desired. It sends nothing to SCIM servers: [API.Wanted] is the port to a provisioning engine, which takes changes
// in transactions, asks for the desired state when it acts, and reports results.
package mgmtapi
