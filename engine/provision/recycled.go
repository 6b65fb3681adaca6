package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/scim"
)

// noHoldNames is Target.HoldNames for none.
const noHoldNames = "-"

// heldNames compiles Target.HoldNames; nil holds none.
func heldNames(expression string) (*regexp.Regexp, error) {
	if expression == noHoldNames {
		return nil, nil
	}
	names, err := regexp.Compile(cmp.Or(expression, engine.DefaultHoldNames))
	if err != nil {
		return nil, fmt.Errorf("HoldNames: %w", err)
	}
	return names, nil
}

// holdsName says whether an account must not be renamed to that without somebody having a look.
func (c *connection) holdsName(name string) bool { return c.names != nil && c.names.MatchString(name) }

// former returns another user of the app who has or had an account, or whose identifier it carries, "" for nobody.
func (r *run) former(ctx context.Context, account *scim.Resource) (string, error) {
	if id := account.ExternalID(); id != "" && id != r.row.ID {
		switch _, err := principal.State(ctx, r.w.e.o.Store, r.row.App, engine.User, id); {
		case err == nil:
			return id, nil
		case !errors.Is(err, engine.ErrNotFound):
			return "", err
		}
	}
	for _, q := range []engine.StateQuery{{RemoteID: account.ID()}, {PreviousID: account.ID()}} {
		q.App, q.Kind = r.row.App, engine.User
		rows, err := r.w.e.o.Store.States(ctx, q)
		if err != nil {
			return "", err
		}
		for _, other := range rows {
			if other.ID != r.row.ID {
				return other.ID, nil
			}
		}
	}
	return "", nil
}
