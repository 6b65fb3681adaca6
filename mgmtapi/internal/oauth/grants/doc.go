// Package grants serves what OAuth clients hold: refresh tokens, by user, by application and by authorization server, and the
// consents of users. It lists and revokes; they come into being in mgmtapi/internal/oauth/endpoints.
package grants
