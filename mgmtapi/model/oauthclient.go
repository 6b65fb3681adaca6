package model

// AppOAuthClient is how an application of the sign-on mode OPENID_CONNECT authenticates as an OAuth client.
type AppOAuthClient struct {
	// ID is the client_id: the id of the application unless another was given. No two applications have the same.
	ID string `json:"clientId"`
}

// OAuthService is the application type of clients that act for themselves.
const OAuthService = "service"

// AppOAuthSettings are the settings of an application as an OAuth client.
type AppOAuthSettings struct {
	ApplicationType string `json:"application_type" doc:"What the client is: service, web, native or browser."`
}

// OAuth says whether the application is an OAuth client.
func (a *App) OAuth() bool { return a.Credentials.OAuthClient != nil && a.Settings.OAuthClient != nil }
