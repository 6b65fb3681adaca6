// Package mgmtapi is a management API for embedders: users, groups, applications, assignments and what is to be provisioned, in tables of
// an embedder's SQLite or PostgreSQL database.
//
//	db, err := sql.Open("pgx", dsn)
//	api, err := mgmtapi.Open(ctx, mgmtapi.Options{DB: db, Dialect: mgmtapi.Postgres, Secrets: key, BaseURL: "https://id.example.com"})
//	err = api.Setup(ctx, mgmtapi.Setup{Token: token})
//	go api.Run(ctx)
//	http.Handle("/", api)
//
// The drivers are the embedder's: this package imports none. The examples show both.
//
// The tables have the prefix "scimwright_", another one (Options.Prefix), or a PostgreSQL schema of their own (Options.Schema). APIs with
// different prefixes or schemas share a database. Tables of other programs stay as they are. The columns are not part of the API.
//
// The API records what is desired. It sends nothing to SCIM servers: [API.Wanted] is the port to a provisioning engine, which takes changes
// in transactions, asks for the desired state when it acts, and reports results.
package mgmtapi
