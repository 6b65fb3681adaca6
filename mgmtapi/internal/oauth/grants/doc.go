// Package grants serves the refresh tokens of OAuth clients, by user, by application and by authorization server, and the consents of
// users. It lists and revokes them; package mgmtapi/internal/oauth/endpoints creates them.
package grants
