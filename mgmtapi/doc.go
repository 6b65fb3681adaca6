// Package mgmtapi is a management API for embedders: users, groups, applications, assignments and the desired state of provisioning, in
// tables of an embedder's SQLite or PostgreSQL database. Use it in a program that serves this API itself; the command "scimwright sandbox"
// serves it for tests.
//
//	db, err := sql.Open("pgx", dsn)
//	api, err := mgmtapi.Open(ctx, mgmtapi.Options{DB: db, Dialect: mgmtapi.Postgres, Secrets: key, BaseURL: "https://id.example.com"})
//	err = api.Setup(ctx, mgmtapi.Setup{Token: token})
//	go api.Run(ctx)
//	http.Handle("/", api)
//
// The embedder chooses and imports the database driver: this package imports none. The examples show both.
//
// The tables have the prefix "scimwright_", the prefix of Options.Prefix, or a separate PostgreSQL schema (Options.Schema). Several APIs
// can share a database with different prefixes or schemas. The API does not modify tables of other programs. The columns are not part of
// the API.
//
// The API records the desired state and sends nothing to SCIM servers. [API.Wanted] returns the value whose methods a provisioning engine
// calls: the engine receives changes in transactions, queries the desired state when it acts, and reports results.
package mgmtapi
