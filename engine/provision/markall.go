package provision

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// MarkAll records, inside the caller's transaction, that the desired state of all principals of an app may have changed that fit,
// e.g. after a mapping was edited or a target was repaired, and returns how many there are. Principals that were never marked
// are not known and so not among them. Call Wake after the commit; without it the change is found at the next sweep.
func (e *Engine) MarkAll(ctx context.Context, tx engine.Execer, m engine.MarkAll) (int64, error) {
	if m.App == "" || m.Kind != "" && m.Kind != engine.User && m.Kind != engine.Group {
		return 0, fmt.Errorf("engine: mark all: app %q, kind %q do not name principals", m.App, m.Kind)
	}
	return e.o.Store.MarkAll(ctx, tx, e.o.Now(), m)
}
