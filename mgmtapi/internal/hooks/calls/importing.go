package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Import is an account of a target that is about to be imported as a user or linked to one.
type Import struct {
	App docstore.Doc[model.App]
	Job string
	// Action is the action for the account, and User the user to link it to.
	Action model.ImportAction
	User   string
	// Matches are the users that the account may belong to, Conflicts the attributes whose values another user already has.
	Matches, Conflicts []string
	// AppProfile is the profile of the account, UserProfile the resulting profile of the user; nil removes an attribute.
	AppProfile, UserProfile map[string]any
}

// The commands of import hooks.
const (
	appUserProfileUpdate = "com.svc.appUser.profile.update"
	userProfileUpdate    = "com.svc.user.profile.update"
	userUpdate           = "com.svc.user.update"
)

// TransformImport calls the active import hook and returns the changed import, and whether the hook changed anything. Without an active
// hook, or with an error, it returns the import unchanged. A *HookError means that the account must not be imported.
func (c *Caller) TransformImport(ctx context.Context, i Import) (Import, bool, error) {
	hook, err := c.ActiveHook(ctx, c.Store.Reader(), model.HookImport)
	if err != nil || hook == nil {
		return i, false, err
	}
	decided := i
	decided.AppProfile, decided.UserProfile = maps.Clone(i.AppProfile), maps.Clone(i.UserProfile)
	changed := false
	err = c.callHook(ctx, hookCall{
		hook: *hook, about: []model.LogParty{audit.App(i.App.ID, &i.App.Value)}, data: importData(i),
		apply: func(commands []Command) error {
			changed = len(commands) > 0
			return decided.apply(commands)
		},
	})
	if err != nil {
		return i, false, err
	}
	return decided, changed, nil
}

func importData(i Import) map[string]any {
	return map[string]any{
		"context": map[string]any{
			"conflicts":   nonNil(i.Conflicts),
			"application": map[string]any{"id": i.App.ID, "name": i.App.Value.Name, "label": i.App.Value.Label, "status": i.App.Value.Status},
			"job":         map[string]any{"id": i.Job, "type": "import:users"},
			"matches":     nonNil(i.Matches),
			"policy":      []string{},
		},
		"action":  map[string]any{"result": i.Action},
		"appUser": map[string]any{"profile": i.AppProfile},
		"user":    map[string]any{"profile": i.UserProfile},
	}
}

// nonNil returns the list, or an empty one instead of nil.
func nonNil(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// apply applies the commands of a hook to the import, in their order.
func (i *Import) apply(commands []Command) error {
	for _, command := range commands {
		var err error
		switch command.Type {
		case actionUpdate:
			var value struct {
				Result model.ImportAction `json:"result"`
			}
			if json.Unmarshal(command.Value, &value) != nil || value.Result != model.ImportCreate && value.Result != model.ImportLink {
				return refuse("a result must be %s or %s", model.ImportCreate, model.ImportLink)
			}
			i.Action = value.Result
		case userUpdate:
			var value struct {
				ID string `json:"id"`
			}
			if json.Unmarshal(command.Value, &value) != nil || value.ID == "" {
				return refuse("%s needs the id of a user", userUpdate)
			}
			i.User = value.ID
		case appUserProfileUpdate:
			i.AppProfile, err = withAttributes(i.AppProfile, command)
		case userProfileUpdate:
			i.UserProfile, err = withAttributes(i.UserProfile, command)
		default:
			return refuse("%s is not a command for imports", quoted(command.Type))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case i.Action == model.ImportLink && i.User == "":
		return refuse("%s needs a user to link the account to", model.ImportLink)
	case i.Action == model.ImportCreate:
		i.User = ""
	}
	return nil
}

// withAttributes returns a copy of a profile to which the attributes of a command are added. They replace attributes with the same names.
func withAttributes(profile map[string]any, command Command) (map[string]any, error) {
	value, err := decode(command.Value)
	attributes, isObject := value.(map[string]any)
	if err != nil || !isObject || !bytes.HasPrefix(command.Value, []byte("{")) {
		return nil, refuse("the value of %s must be an object of attributes", command.Type)
	}
	out := maps.Clone(profile)
	if out == nil {
		out = map[string]any{}
	}
	for name, v := range attributes {
		out[name] = model.PlainValue(v)
	}
	return out, nil
}
