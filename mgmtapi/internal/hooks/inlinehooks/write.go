package inlinehooks

import (
	"context"
	"reflect"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// MaxHooks is the maximum number of inline hooks of all types together.
const MaxHooks = 50

// InlineHookInput is an inline hook in a request. Read-only members are ignored, so that a hook can be sent back as it was read.
type InlineHookInput struct {
	Name    string        `json:"name" empty:"absent" max:"255" doc:"Name of the hook."`
	Type    string        `json:"type" empty:"absent"`
	Version string        `json:"version" empty:"absent" enum:"1.0.0" doc:"1.0.0. It cannot be changed."`
	Channel *ChannelInput `json:"channel" doc:"Endpoint and authentication of calls."`
}

// MoreTags implements rest.Described.
func (InlineHookInput) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"type": `enum:"com.svc.oauth2.tokens.transform,com.svc.saml.tokens.transform,com.svc.import.transform,` +
			`com.svc.user.pre-registration,com.svc.user.credential.password.import,com.svc.telephony.provider" doc:"Type of the hook: the ` +
			`operation during which the API calls the hook. The type cannot be changed."`,
	}
}

// checkChange rejects changes of read-only members of an existing hook.
func (in *InlineHookInput) checkChange(old *model.InlineHook, causes *rest.Causes) {
	if in.Name != "" && blank(in.Name) {
		causes.Blank("name")
	}
	if in.Type != "" && in.Type != string(old.Type) {
		causes.Add("type", "The type cannot be changed: it is %s", old.Type)
	}
	if in.Version != "" && in.Version != old.Version {
		causes.Add("version", "The version cannot be changed: it is %s", old.Version)
	}
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

type createRequest struct {
	Body InlineHookInput `body:"required"`

	channel model.HookChannel
	secrets given
}

// checkCreate validates the whole hook.
func (s *Slice) checkCreate(ctx context.Context, r *createRequest, causes *rest.Causes) (err error) {
	for _, m := range []struct{ name, value string }{{"name", r.Body.Name}, {"type", r.Body.Type}, {"version", r.Body.Version}} {
		if blank(m.value) {
			causes.Blank(m.name)
		}
	}
	if r.Body.Channel == nil {
		causes.Blank("channel")
		return nil
	}
	r.channel, r.secrets, err = s.merge(ctx, s.Store.Reader(), model.HookChannel{}, r.Body.Channel, causes)
	return err
}

func (s *Slice) create(ctx context.Context, r *createRequest) (out InlineHook, err error) {
	id := model.NewID(model.KindInlineHook)
	hook := model.InlineHook{
		Name: r.Body.Name, Type: model.HookType(r.Body.Type), Version: r.Body.Version, Status: model.HookActive, Channel: r.channel,
	}
	if err := s.seal(id, &hook.Channel, r.secrets); err != nil {
		return InlineHook{}, err
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		n, err := s.InlineHooks.Count(ctx, tx, nil)
		if err != nil {
			return err
		}
		if n >= MaxHooks {
			return rest.Invalid("inlineHooks", "There can be at most %d inline hooks", MaxHooks)
		}
		if err := s.checkKeyExists(ctx, tx, &hook.Channel); err != nil {
			return err
		}
		if hook.Turn, err = s.NextHookTurn(ctx, tx, hook.Type); err != nil {
			return err
		}
		doc, err := s.InlineHooks.Insert(ctx, tx, id, hook)
		if err != nil {
			return err
		}
		out = render(ctx, doc)
		return s.log(ctx, tx, audit.HookCreate, doc)
	})
	return out, err
}

// checkKeyExists returns an error if the hook key was deleted since the channel was checked.
func (s *Slice) checkKeyExists(ctx context.Context, tx *docstore.Tx, c *model.HookChannel) error {
	if c.HookKey == "" {
		return nil
	}
	var causes rest.Causes
	if err := s.checkKey(ctx, tx, c.HookKey, &causes); err != nil {
		return err
	}
	return causes.Err()
}

type replaceRequest struct {
	target
	Body InlineHookInput `body:"required"`
}

// base returns the initial channel of a replacement: the stored secrets, if the channel authenticates in the same way at the same endpoint,
// otherwise an empty channel.
func base(old model.HookChannel, in *ChannelInput) model.HookChannel {
	kept := model.HookChannel{Type: old.Type}
	if in == nil || in.Config == nil || moves(old, in) {
		return kept
	}
	if in.Config.AuthScheme != nil {
		kept.SealedAuthValue = old.SealedAuthValue
	}
	kept.SealedClientSecret = old.SealedClientSecret
	return kept
}

// patched returns the initial channel of an update: the stored channel, without the secrets if the endpoint moves.
func patched(old model.HookChannel, in *ChannelInput) model.HookChannel {
	if in != nil && in.Config != nil && moves(old, in) {
		old.SealedAuthValue, old.SealedClientSecret = "", ""
	}
	return old
}

// moves reports whether an endpoint of a channel moves to another scheme, host or port. The administrator who moves an endpoint must
// provide its secrets again: otherwise the service would send the stored secrets, or an access token, to a server of that administrator.
func moves(old model.HookChannel, in *ChannelInput) bool {
	elsewhere := func(to, from string) bool { return to != "" && !model.SameOrigin(to, from) }
	return elsewhere(in.Config.URI, old.URI) || elsewhere(in.Config.TokenURL, old.TokenURL)
}

// checkReplace validates the whole hook.
func (s *Slice) checkReplace(ctx context.Context, r *replaceRequest, causes *rest.Causes) error {
	if r.Body.Name == "" {
		causes.Blank("name")
	}
	r.Body.checkChange(&r.found.Value, causes)
	if r.Body.Channel == nil {
		causes.Blank("channel")
		return nil
	}
	_, _, err := s.merge(ctx, s.Store.Reader(), base(r.found.Value.Channel, r.Body.Channel), r.Body.Channel, causes)
	return err
}

func (s *Slice) replace(ctx context.Context, r *replaceRequest) (InlineHook, error) {
	return s.write(ctx, &r.target, &r.Body, base)
}

type updateRequest struct {
	target
	Body InlineHookInput `body:"required"`
}

// checkUpdate validates the hook after the update.
func (s *Slice) checkUpdate(ctx context.Context, r *updateRequest, causes *rest.Causes) error {
	r.Body.checkChange(&r.found.Value, causes)
	_, _, err := s.merge(ctx, s.Store.Reader(), patched(r.found.Value.Channel, r.Body.Channel), r.Body.Channel, causes)
	return err
}

func (s *Slice) update(ctx context.Context, r *updateRequest) (InlineHook, error) {
	return s.write(ctx, &r.target, &r.Body, patched)
}

// write applies a body to a hook and stores it. start returns the initial channel.
func (s *Slice) write(ctx context.Context, t *target, in *InlineHookInput,
	start func(model.HookChannel, *ChannelInput) model.HookChannel) (out InlineHook, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		hook := t.found.Value
		var causes rest.Causes
		channel, secrets, err := s.merge(ctx, tx, start(hook.Channel, in.Channel), in.Channel, &causes)
		if err != nil {
			return err
		}
		if err := causes.Err(); err != nil {
			return err
		}
		if err := s.seal(t.ID, &channel, secrets); err != nil {
			return err
		}
		if hook.Channel = channel; in.Name != "" {
			hook.Name = in.Name
		}
		doc, err := s.InlineHooks.Update(ctx, tx, t.found.ID, t.found.Rev, hook)
		if err != nil {
			return err
		}
		out = render(ctx, doc)
		return s.log(ctx, tx, audit.HookUpdate, doc)
	})
	return out, err
}

func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, doc docstore.Doc[model.InlineHook]) error {
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.InlineHook(doc)}})
}
