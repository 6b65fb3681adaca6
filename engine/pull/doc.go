// Package pull has an engine.Directory that queries an HTTP endpoint of the identity provider for the desired state, at the time when the
// engine needs it. The identity provider keeps its users and groups, in any language, and only reports that something has changed
// (engine.Mark, or over HTTP the operation markPrincipals of package control).
//
//	directory, err := pull.New(pull.Options{
//		URL:     "https://idp.example.com/scimwright",
//		Secrets: []string{"whsec_..."},
//		Target:  func(ctx context.Context, app string) (engine.Target, error) { ... },
//	})
//
// Each query is a POST request with a JSON object, signed as the specification Standard Webhooks describes. [OpenAPI] describes the
// requests and responses.
//
// # Errors
//
// An account is deactivated only after a response with the explicit state "absent" or "inactive" for the id in the request. Every other
// response is an [Error]: another status, a redirect, another media type, malformed JSON, a missing member, another id, an incomplete list,
// a response that is too long or too late. The engine then retries with a growing delay and changes nothing.
package pull
