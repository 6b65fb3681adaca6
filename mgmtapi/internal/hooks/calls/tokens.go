package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Token is an unsigned token in the form that hooks receive.
type Token struct {
	// Claims are all claims of the token, as JSON values.
	Claims map[string]any
	// Lifetime of the token, in whole seconds.
	Lifetime time.Duration
	// Scopes maps the names of the granted scopes to their ids. Access tokens only.
	Scopes map[string]string
}

// Tokens are the tokens of one token response. A nil token is not issued.
type Tokens struct {
	Identity, Access *Token
}

// TokenContext describes the request for the tokens. Nil members are omitted.
type TokenContext struct {
	// Protocol describes the OAuth request: the type of the protocol (OAUTH2.0), the parameters of the request, the issuer and the client.
	Protocol any
	// Session, User and Policy are the session, the user and the policy with the rule of the tokens.
	Session, User, Policy any
	// Target are the log targets in addition to the hook, e.g. the client.
	Target []model.LogParty
}

// The commands of token hooks.
const (
	identityPatch = "com.svc.identity.patch"
	accessPatch   = "com.svc.access.patch"
)

// Limits of the lifetime that a hook may set.
const (
	MinTokenLifetime = 5 * time.Minute
	MaxTokenLifetime = 24 * time.Hour
)

// Limits of the claims after the changes of a hook.
const (
	// MaxClaims is the maximum size of the claims as JSON, in bytes. A token of this size fits into a header.
	MaxClaims = 16 << 10
	// MaxClaimsDepth is the maximum nesting of objects and arrays in the claims.
	MaxClaimsDepth = 16
)

// lifetimePath is the path by which a command in a hook's response sets the lifetime of a token.
const lifetimePath = "/token/lifetime/expiration"

// fixedClaims identify the issuer, the recipient, the purpose and the lifetime of a token, or bind the token to another object. Hooks
// cannot change them.
var fixedClaims = []string{
	"iss", "aud", "sub", "exp", "iat", "nbf", "jti", "ver", "cid", "uid", "scp", "scope", "cnf", "client_id", "token_type",
	"auth_time", "amr", "acr", "azp", "idp", "nonce", "at_hash", "c_hash", "s_hash", "sid", "act", "may_act",
}

// FixedClaims returns the claims that hooks cannot change.
func FixedClaims() []string { return slices.Clone(fixedClaims) }

// TransformTokens calls the hook with the id and returns the changed tokens; the given tokens are not modified. An unknown or inactive
// hook, or one of another type, changes nothing. An error is logged, and the unchanged tokens are returned with it.
func (c *Caller) TransformTokens(ctx context.Context, id string, about TokenContext, tokens Tokens) (Tokens, error) {
	found, err := model.Optional(ctx, c.Store.Reader(), c.InlineHooks, id)
	if err != nil || found == nil || found.Value.Status != model.HookActive || found.Value.Type != model.HookTokenTransform {
		return tokens, err
	}
	changed, err := cloneTokens(tokens)
	if err != nil {
		return tokens, err
	}
	err = c.callHook(ctx, hookCall{
		hook: *found, data: tokenData(ctx, about, tokens), about: about.Target,
		apply: func(commands []Command) error { return changed.apply(commands) },
	})
	if err != nil {
		return tokens, err
	}
	return changed, nil
}

// tokenData returns the data of the request to a token hook.
func tokenData(ctx context.Context, about TokenContext, tokens Tokens) map[string]any {
	described := map[string]any{}
	for name, value := range map[string]any{"protocol": about.Protocol, "session": about.Session, "user": about.User, "policy": about.Policy} {
		if value != nil {
			described[name] = value
		}
	}
	if request := requestContext(ctx, http.MethodPost); request != nil {
		described["request"] = request
	}
	data := map[string]any{"context": described}
	if t := tokens.Identity; t != nil {
		data["identity"] = t.shown()
	}
	if t := tokens.Access; t != nil {
		access, scopes := t.shown(), map[string]any{}
		for name, id := range t.Scopes {
			scopes[name] = map[string]any{"id": id, "action": "GRANT"}
		}
		access["scopes"] = scopes
		data["access"] = access
	}
	return data
}

func (t *Token) shown() map[string]any {
	return map[string]any{
		"claims": t.Claims,
		"token":  map[string]any{"lifetime": map[string]any{"expiration": int64(t.Lifetime / time.Second)}},
	}
}

// cloneTokens returns a copy for changes, with the claims as decoded JSON.
func cloneTokens(tokens Tokens) (Tokens, error) {
	for _, t := range []**Token{&tokens.Identity, &tokens.Access} {
		if *t == nil {
			continue
		}
		data, err := json.Marshal((*t).Claims)
		if err != nil {
			return Tokens{}, fmt.Errorf("hooks: the claims of a token: %w", err)
		}
		claims, err := decode(data)
		if err != nil {
			return Tokens{}, fmt.Errorf("hooks: the claims of a token: %w", err)
		}
		object, _ := claims.(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		*t = &Token{Claims: object, Lifetime: (*t).Lifetime, Scopes: maps.Clone((*t).Scopes)}
	}
	return tokens, nil
}

// patch is one operation of a command.
type patch struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// apply applies commands.
func (t *Tokens) apply(commands []Command) error {
	for _, command := range commands {
		var token *Token
		switch command.Type {
		case identityPatch:
			token = t.Identity
		case accessPatch:
			token = t.Access
		default:
			return refuse("%s is not a command for tokens", quoted(command.Type))
		}
		if token == nil {
			return refuse("%s is for a token that is not issued", command.Type)
		}
		var patches []patch
		if err := json.Unmarshal(command.Value, &patches); err != nil {
			return refuse("the value of %s must be a list of operations", command.Type)
		}
		for _, p := range patches {
			if err := token.apply(p); err != nil {
				return err
			}
		}
		if err := token.checkSize(); err != nil {
			return err
		}
	}
	return nil
}

// checkSize returns an error if the claims are too large or nested too deep.
func (t *Token) checkSize() error {
	if exceedsDepth(t.Claims, MaxClaimsDepth) {
		return refuse("the claims of the token would be nested more than %d deep", MaxClaimsDepth)
	}
	text, err := json.Marshal(t.Claims)
	if err != nil {
		return fmt.Errorf("hooks: the claims of a token: %w", err)
	}
	if len(text) > MaxClaims {
		return refuse("the claims of the token would have more than %d bytes", MaxClaims)
	}
	return nil
}

// exceedsDepth reports whether objects and arrays are nested more than levels deep.
func exceedsDepth(value any, levels int) bool {
	var inner []any
	switch v := value.(type) {
	case map[string]any:
		inner = slices.Collect(maps.Values(v))
	case []any:
		inner = v
	default:
		return false
	}
	return levels == 0 || slices.ContainsFunc(inner, func(v any) bool { return exceedsDepth(v, levels-1) })
}

func (t *Token) apply(p patch) error {
	if p.Path == lifetimePath {
		return t.setLifetime(p)
	}
	segments, ok := pointer(p.Path)
	if !ok || len(segments) < 2 || segments[0] != "claims" || segments[1] == "" {
		return refuse("%s is not the path of a claim", quoted(p.Path))
	}
	if slices.Contains(fixedClaims, segments[1]) {
		return refuse("the claim %s cannot be changed", segments[1])
	}
	var value any
	if p.Op != opRemove {
		var err error
		if value, err = decode(p.Value); err != nil {
			return refuse("%s on %s has no value", quoted(p.Op), quoted(p.Path))
		}
	}
	changed, text := change(t.Claims, segments[1:], p.Op, value)
	if text != "" {
		return refuse("%s on %s: %s", quoted(p.Op), quoted(p.Path), text)
	}
	t.Claims = changed.(map[string]any) //nolint:forcetypeassert // an object stays one
	return nil
}

func (t *Token) setLifetime(p patch) error {
	if p.Op != opReplace {
		return refuse("a lifetime can only be replaced")
	}
	var seconds int64
	if err := json.Unmarshal(p.Value, &seconds); err != nil || string(p.Value) == "null" {
		return refuse("a lifetime must be a whole number of seconds")
	}
	if seconds < int64(MinTokenLifetime/time.Second) || seconds > int64(MaxTokenLifetime/time.Second) {
		return refuse("a lifetime must be between %d and %d seconds", int64(MinTokenLifetime/time.Second), int64(MaxTokenLifetime/time.Second))
	}
	t.Lifetime = time.Duration(seconds) * time.Second
	return nil
}

// pointer splits a JSON pointer (RFC 6901).
func pointer(text string) ([]string, bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, false
	}
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return segments, true
}
