package issue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Transformer asks an inline hook what to change in tokens before they are signed.
type Transformer interface {
	// Transform returns the commands of the hook with the id, none when there is nothing to change or the hook is not active. It
	// must not change the draft. After an error the tokens are issued as they are.
	Transform(ctx context.Context, hook string, d Draft) ([]Command, error)
}

// Draft is what a hook is told: the tokens as they are before they are signed, and what they come from.
type Draft struct {
	*Request
	Access Part
	// Identity is nil where no ID token is due.
	Identity *Part
}

// Part is a token before it is signed.
type Part struct {
	Claims   map[string]any
	Lifetime int // in seconds
}

// Command is what a hook wants changed in a token.
type Command struct {
	Type  string  // PatchAccess or PatchIdentity
	Value []Patch // in their order
}

// The types of commands.
const (
	PatchAccess   = "com.svc.access.patch"
	PatchIdentity = "com.svc.identity.patch"
)

// Patch is a change: add, replace or remove at /claims/<claim>, or replace at /token/lifetime/expiration.
type Patch struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Bounds of what a hook can do.
const (
	minLifetime = 5 * 60
	maxLifetime = 24 * 60 * 60
	maxPatches  = 200
)

// callHook asks the hook of the rule and does what it says: all of it, or nothing when any command is not allowed.
func (i *Issuer) callHook(ctx context.Context, r *Request, access, identity *Part) error {
	draft := Draft{Request: r, Access: access.clone()}
	if identity != nil {
		draft.Identity = new(identity.clone())
	}
	commands, err := i.transform.Transform(ctx, r.Rule.Hook, draft)
	if err != nil {
		return err
	}
	newAccess, newIdentity := access.clone(), (*Part)(nil)
	if identity != nil {
		newIdentity = new(identity.clone())
	}
	if err := apply(commands, &newAccess, newIdentity); err != nil {
		return err
	}
	*access = newAccess
	if identity != nil {
		*identity = *newIdentity
	}
	return nil
}

func (p *Part) clone() Part { return Part{Claims: maps.Clone(p.Claims), Lifetime: p.Lifetime} }

var (
	errCommand  = errors.New("the type of a command is neither " + PatchAccess + " nor " + PatchIdentity)
	errIdentity = errors.New("there is no ID token to patch")
	errPatches  = fmt.Errorf("there are more than %d patches", maxPatches)
	errLifetime = fmt.Errorf("the lifetime must be replaced by a number of seconds between %d and %d", minLifetime, maxLifetime)
)

func apply(commands []Command, access, identity *Part) error {
	n := 0
	for _, c := range commands {
		target, forbidden := access, reserved
		switch c.Type {
		case PatchAccess:
		case PatchIdentity:
			if identity == nil {
				return errIdentity
			}
			target, forbidden = identity, append(reservedIdentity[:len(reservedIdentity):len(reservedIdentity)], reserved...)
		default:
			return errCommand
		}
		for _, patch := range c.Value {
			if n++; n > maxPatches {
				return errPatches
			}
			if err := target.apply(patch, forbidden); err != nil {
				return err
			}
		}
	}
	return nil
}

const lifetimePath = "/token/lifetime/expiration"

func (p *Part) apply(patch Patch, forbidden []string) error {
	if patch.Path == lifetimePath {
		seconds, err := strconv.ParseFloat(fmt.Sprint(patch.Value), 64)
		if err != nil || patch.Op != "replace" || seconds < minLifetime || seconds > maxLifetime || seconds != float64(int(seconds)) {
			return errLifetime
		}
		p.Lifetime = int(seconds)
		return nil
	}
	path, ok := strings.CutPrefix(patch.Path, "/claims/")
	if !ok {
		return fmt.Errorf("the path %.100q is neither %s nor below /claims/", patch.Path, lifetimePath)
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	}
	for _, claim := range forbidden {
		if names[0] == claim {
			return fmt.Errorf("the claim %s cannot be changed", claim)
		}
	}
	return change(p.Claims, names, patch)
}

// change follows the names through objects, which are copied on the way: the claims of others are not touched.
func change(object map[string]any, names []string, patch Patch) error {
	name := names[0]
	have, there := object[name]
	if len(names) > 1 {
		inner, ok := have.(map[string]any)
		if !ok {
			return fmt.Errorf("there is no object at a part of the path %.100q", patch.Path)
		}
		inner = maps.Clone(inner)
		object[name] = inner
		return change(inner, names[1:], patch)
	}
	switch {
	case name == "":
		return fmt.Errorf("the path %.100q names nothing", patch.Path)
	case patch.Op == "add", patch.Op == "replace" && there:
		if patch.Value == nil {
			return fmt.Errorf("the value at %.100q must not be null", patch.Path)
		}
		object[name] = patch.Value
	case patch.Op == "remove" && there:
		delete(object, name)
	case patch.Op == "replace", patch.Op == "remove":
		return fmt.Errorf("there is nothing at the path %.100q", patch.Path)
	default:
		return fmt.Errorf("the operation %.20q is none of add, replace and remove", patch.Op)
	}
	return nil
}
