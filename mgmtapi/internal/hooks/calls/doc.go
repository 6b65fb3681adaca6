// Package calls calls inline hooks: external endpoints that the service calls while it makes a decision. It authenticates the calls, limits
// their time and size, repeats a failed call once, and applies only the commands that the type of the hook allows.
//
// A response is applied completely or not at all: one command that is not allowed discards the whole response. Requests and responses are
// logged without secrets. Package mgmtapi/internal/hooks/inlinehooks serves the registered hooks.
package calls
