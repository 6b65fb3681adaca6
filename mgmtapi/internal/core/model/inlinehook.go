package model

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim/filter"
)

// HookType is the type of an inline hook: the operation during which it is called.
type HookType string

// The types of inline hooks.
const (
	HookTokenTransform  HookType = "com.svc.oauth2.tokens.transform"
	HookSAML            HookType = "com.svc.saml.tokens.transform"
	HookImport          HookType = "com.svc.import.transform"
	HookPreRegistration HookType = "com.svc.user.pre-registration"
	HookPasswordImport  HookType = "com.svc.user.credential.password.import" //nolint:gosec // a name
	HookTelephony       HookType = "com.svc.telephony.provider"
)

// HookStatus determines whether an inline hook is called.
type HookStatus string

// The statuses of an inline hook.
const (
	HookActive   HookStatus = "ACTIVE"
	HookInactive HookStatus = "INACTIVE"
)

// HookChannelType is the authentication of the calls of an inline hook.
type HookChannelType string

// The types of channels: with a secret in a header, or with an access token.
const (
	HookHTTP  HookChannelType = "HTTP"
	HookOAuth HookChannelType = "OAUTH"
)

// HookAuthType is the authentication of a hook at the token endpoint for its access tokens.
type HookAuthType string

// The ways to authenticate at a token endpoint.
const (
	HookClientSecret HookAuthType = "client_secret_post" //nolint:gosec // a name
	HookPrivateKey   HookAuthType = "private_key_jwt"
)

// HookVersion is the version of hooks and of their channels.
const HookVersion = "1.0.0"

// InlineHook is an external endpoint that is called while a request is processed. Its response affects the result.
type InlineHook struct {
	Name    string      `json:"name"`
	Type    HookType    `json:"type"`
	Version string      `json:"version"`
	Status  HookStatus  `json:"status"`
	Channel HookChannel `json:"channel"`
	// Turn increases with each activation of a hook of the type: of several active hooks, the one with the greatest turn is called.
	Turn int `json:"turn"`
}

// HookChannel describes how the endpoint of an inline hook is called.
type HookChannel struct {
	Type    HookChannelType `json:"type"`
	Version string          `json:"version"`
	URI     string          `json:"uri"`
	Headers []HookHeader    `json:"headers,omitempty"`
	// AuthHeader and SealedAuthValue are the header with the secret, for HTTP channels that have one.
	AuthHeader      string `json:"authHeader,omitempty"`
	SealedAuthValue string `json:"sealedAuthValue,omitempty"`
	// The following members belong to OAUTH channels. HookKey is the id of a hook key.
	AuthType           HookAuthType `json:"authType,omitempty"`
	TokenURL           string       `json:"tokenUrl,omitempty"`
	ClientID           string       `json:"clientId,omitempty"`
	SealedClientSecret string       `json:"sealedClientSecret,omitempty"`
	Scope              string       `json:"scope,omitempty"`
	HookKey            string       `json:"hookKey,omitempty"`
}

// HookHeader is a header that is sent with each call.
type HookHeader struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// HookAuthValueBinding returns the binding with which package seal encrypts the secret in a hook's header.
func HookAuthValueBinding(hook string) string { return "hook/" + hook + "/authScheme" }

// HookClientSecretBinding returns the binding with which package seal encrypts a hook's client secret.
func HookClientSecretBinding(hook string) string { return "hook/" + hook + "/clientSecret" }

// The indexes of the inline hooks.
const (
	InlineHookByName = "name"     // index by folded name, unique
	InlineHookByType = "type"     // index by the type
	InlineHookByKey  = "hook_key" // index by the hook key that the hook uses
)

func inlineHookCollection() docstore.Collection[InlineHook] {
	return docstore.NewCollection("inline_hooks",
		docstore.Index[InlineHook]{Name: InlineHookByName, Version: filter.FoldVersion, Unique: true, Values: func(h *InlineHook) []any {
			return []any{filter.Fold(h.Name)}
		}},
		docstore.Index[InlineHook]{Name: InlineHookByType, Values: func(h *InlineHook) []any { return []any{string(h.Type)} }},
		docstore.Index[InlineHook]{Name: InlineHookByKey, Values: func(h *InlineHook) []any { return optional(h.Channel.HookKey) }},
	)
}

// EventInlineHookDeleted is the topic of InlineHookDeleted.
const EventInlineHookDeleted = "inlinehook.deleted"

// InlineHookDeleted reports that an inline hook was deleted. Objects that refer to it drop the reference.
type InlineHookDeleted struct {
	ID string `json:"id"`
}

// Topic implements Event.
func (InlineHookDeleted) Topic() string { return EventInlineHookDeleted }

// Key implements Event with the id of the hook.
func (e InlineHookDeleted) Key() string { return e.ID }

// NextHookTurn returns the turn of a hook of the type that is activated now.
func (d Deps) NextHookTurn(ctx context.Context, q docstore.Reader, kind HookType) (int, error) {
	turn := 0
	err := Each(ctx, q, d.InlineHooks, docstore.Eq(InlineHookByType, string(kind)), func(h docstore.Doc[InlineHook]) error {
		turn = max(turn, h.Value.Turn)
		return nil
	})
	return turn + 1, err
}

// ActiveHook returns the hook of the type that is called: of the active hooks, the last activated one. It returns nil if no hook is active.
func (d Deps) ActiveHook(ctx context.Context, q docstore.Reader, kind HookType) (*docstore.Doc[InlineHook], error) {
	var found *docstore.Doc[InlineHook]
	err := Each(ctx, q, d.InlineHooks, docstore.Eq(InlineHookByType, string(kind)), func(h docstore.Doc[InlineHook]) error {
		if h.Value.Status == HookActive && (found == nil || h.Value.Turn > found.Value.Turn) {
			found = &h
		}
		return nil
	})
	return found, err
}
