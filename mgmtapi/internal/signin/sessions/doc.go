// Package sessions serves the sessions: a session token, with which a sign-in ends, is traded once for a session, which is
// read, prolonged and ended by its id, or by the cookie that holds it, and ends with everything that ends all sessions of a user.
//
// The id of a session is a secret and stored hashed. The package signs nobody in (authn does) and sets no cookie: who trades the
// token decides where the id goes.
package sessions
