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

// Token is a token before it is signed, as far as a hook is shown it.
type Token struct {
	// Claims are all claims of the token, as JSON values.
	Claims map[string]any
	// Lifetime of the token, in whole seconds.
	Lifetime time.Duration
	// Scopes are the names of the granted scopes with their ids. Of access tokens only.
	Scopes map[string]string
}

// Tokens are those of one answer of a token endpoint. What is nil is not issued.
type Tokens struct {
	Identity, Access *Token
}

// TokenContext says what the tokens are issued for. What is nil is left out.
type TokenContext struct {
	// Protocol holds type, request, issuer and client.
	Protocol any
	// Session, User and Policy are about whom and by which rule the tokens are issued.
	Session, User, Policy any
	// Target is who the log names beside the hook, e.g. the client.
	Target []model.LogParty
}

// The commands of token hooks.
const (
	identityPatch = "com.svc.identity.patch"
	accessPatch   = "com.svc.access.patch"
)

// Bounds of the lifetime that a hook may give a token.
const (
	MinTokenLifetime = 5 * time.Minute
	MaxTokenLifetime = 24 * time.Hour
)

// Bounds of the claims of a token that a hook has changed.
const (
	// MaxClaims is their size as JSON, in bytes. A token with them can still be sent in a header.
	MaxClaims = 16 << 10
	// MaxClaimsDepth is how deep objects and arrays are nested in them.
	MaxClaimsDepth = 16
)

// lifetimePath is the path of a token's lifetime in a command.
const lifetimePath = "/token/lifetime/expiration"

// fixedClaims say who issued a token to whom, for what and for how long, or bind it to something else. No hook changes them.
var fixedClaims = []string{
	"iss", "aud", "sub", "exp", "iat", "nbf", "jti", "ver", "cid", "uid", "scp", "scope", "cnf", "client_id", "token_type",
	"auth_time", "amr", "acr", "azp", "idp", "nonce", "at_hash", "c_hash", "s_hash", "sid", "act", "may_act",
}

// FixedClaims lists the claims that no hook changes.
func FixedClaims() []string { return slices.Clone(fixedClaims) }

// TransformTokens asks the hook with the id what is to be changed in tokens, and returns them changed; those it is given stay as they
// are. A hook that is gone, not active or of another type changes nothing. With an error, which the log has been told, the tokens are
// returned as they were.
func (c *Caller) TransformTokens(ctx context.Context, id string, about TokenContext, tokens Tokens) (Tokens, error) {
	found, err := model.Optional(ctx, c.Store.Reader(), c.InlineHooks, id)
	if err != nil || found == nil || found.Value.Status != model.HookActive || found.Value.Type != model.HookTokenTransform {
		return tokens, err
	}
	changed, err := copied(tokens)
	if err != nil {
		return tokens, err
	}
	err = c.ask(ctx, question{
		hook: *found, data: tokenData(ctx, about, tokens), about: about.Target,
		follow: func(commands []Command) error { return changed.follow(commands) },
	})
	if err != nil {
		return tokens, err
	}
	return changed, nil
}

// tokenData is what a hook is told of tokens.
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

// copied is a copy to change, with claims as JSON has them.
func copied(tokens Tokens) (Tokens, error) {
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

// follow carries commands out.
func (t *Tokens) follow(commands []Command) error {
	for _, command := range commands {
		var token *Token
		switch command.Type {
		case identityPatch:
			token = t.Identity
		case accessPatch:
			token = t.Access
		default:
			return refuse("%s is no command for tokens", shown(command.Type))
		}
		if token == nil {
			return refuse("%s is for a token that is not issued", command.Type)
		}
		var patches []patch
		if err := json.Unmarshal(command.Value, &patches); err != nil {
			return refuse("the value of %s is no list of operations", command.Type)
		}
		for _, p := range patches {
			if err := token.apply(p); err != nil {
				return err
			}
		}
		if err := token.bounded(); err != nil {
			return err
		}
	}
	return nil
}

// bounded refuses claims that are too large or too deep.
func (t *Token) bounded() error {
	if deeper(t.Claims, MaxClaimsDepth) {
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

// deeper says whether objects and arrays are nested more than so many times.
func deeper(value any, levels int) bool {
	var inner []any
	switch v := value.(type) {
	case map[string]any:
		inner = slices.Collect(maps.Values(v))
	case []any:
		inner = v
	default:
		return false
	}
	return levels == 0 || slices.ContainsFunc(inner, func(v any) bool { return deeper(v, levels-1) })
}

func (t *Token) apply(p patch) error {
	if p.Path == lifetimePath {
		return t.setLifetime(p)
	}
	segments, ok := pointer(p.Path)
	if !ok || len(segments) < 2 || segments[0] != "claims" || segments[1] == "" {
		return refuse("%s is no path of a claim", shown(p.Path))
	}
	if slices.Contains(fixedClaims, segments[1]) {
		return refuse("the claim %s cannot be changed", segments[1])
	}
	var value any
	if p.Op != opRemove {
		var err error
		if value, err = decode(p.Value); err != nil {
			return refuse("%s on %s has no value", shown(p.Op), shown(p.Path))
		}
	}
	changed, text := change(t.Claims, segments[1:], p.Op, value)
	if text != "" {
		return refuse("%s on %s: %s", shown(p.Op), shown(p.Path), text)
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
		return refuse("a lifetime is a number of seconds")
	}
	if seconds < int64(MinTokenLifetime/time.Second) || seconds > int64(MaxTokenLifetime/time.Second) {
		return refuse("a lifetime is between %d and %d seconds", int64(MinTokenLifetime/time.Second), int64(MaxTokenLifetime/time.Second))
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
