// Package sessions serves the sessions. A session token, the result of a sign-in, can be exchanged once for a session. A session is read,
// prolonged and ended by its id or by the cookie with the id. It also ends with every operation that ends all sessions of a user.
//
// The id of a session is a secret and is stored hashed. The package does not authenticate users (package authn does) and does not set
// cookies: the client that exchanges the token stores the id.
package sessions
