package callers

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// maxPeople is the maximum number of users, and of groups, in a rule.
const maxPeople = 100

// CheckPeople adds a cause for each nonexistent user or group that a rule names, and for each list that is too long.
func CheckPeople(ctx context.Context, q docstore.Reader, d model.Deps, people *model.RulePeople, causes *rest.Causes) error {
	for _, list := range []struct {
		member string
		ids    []string
		groups bool
	}{
		{"conditions.people.users.include", people.Users, false},
		{"conditions.people.users.exclude", people.ExcludeUsers, false},
		{"conditions.people.groups.include", people.Groups, true},
		{"conditions.people.groups.exclude", people.ExcludeGroups, true},
	} {
		if len(list.ids) > maxPeople {
			causes.Add(list.member, "The field must have at most %d elements", maxPeople)
			continue
		}
		known, kind := map[string]bool{}, "user"
		if list.groups {
			known[model.EveryoneToken], kind = true, "group"
			err := model.EachOf(ctx, q, d.Groups, list.ids, func(g *docstore.Doc[model.Group]) { known[g.ID] = true })
			if err != nil {
				return err
			}
		} else {
			err := model.EachOf(ctx, q, d.Users, list.ids, func(u *docstore.Doc[model.User]) { known[u.ID] = true })
			if err != nil {
				return err
			}
		}
		for i, id := range list.ids {
			if !known[id] {
				causes.Add(fmt.Sprintf("%s[%d]", list.member, i), "Unknown %s id %.100q", kind, id)
			}
		}
	}
	return nil
}
