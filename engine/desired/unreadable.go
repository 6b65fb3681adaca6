package desired

import (
	"context"
	"fmt"
	"strings"
)

// Unreadable is a stored secret that no key decrypts: the credentials of an app, or the password of a user.
type Unreadable struct {
	App  string
	User string // empty for the credentials of the app
}

// UnreadableQuery selects secrets.
type UnreadableQuery struct {
	Prefix string     // of the ids of the apps, such as that of a tenant
	After  Unreadable // the last one of the previous page
	Limit  int        // Default: MaxPage
	Apps   bool       // only the credentials of apps
}

// Unreadable lists the secrets that no key decrypts: first those of apps, then those of users. A write with a higher version replaces them.
// The cost grows with the number of all secrets.
func (s *Store) Unreadable(ctx context.Context, q UnreadableQuery) (found []Unreadable, err error) {
	if s.seal == nil {
		return nil, ErrNoSeal
	}
	if q.Limit <= 0 {
		q.Limit = MaxPage
	}
	for _, table := range sealedTables {
		if q.Apps && table.user || q.After.User != "" && !table.user {
			continue
		}
		after := sealedRow{app: q.After.App, id: q.After.User}
		if table.user && q.After.User == "" || q.After.App == "" {
			after = sealedRow{app: q.Prefix}
		}
		if found, err = s.unreadable(ctx, &table, q, after, found); err != nil {
			return nil, fmt.Errorf("desired: check the secrets: %w", err)
		}
	}
	return found, nil
}

func (s *Store) unreadable(ctx context.Context, t *sealedRows, q UnreadableQuery, at sealedRow, found []Unreadable) ([]Unreadable, error) {
	for len(found) < q.Limit {
		rows, err := t.read(ctx, s.db.Reader(), at)
		if err != nil {
			return found, err
		}
		for i := range rows {
			r := &rows[i]
			if !strings.HasPrefix(r.app, q.Prefix) { // the apps with a prefix are consecutive
				return found, nil
			}
			if _, err := s.seal.Open(r.text, t.binding(r)); err != nil && len(found) < q.Limit {
				found = append(found, Unreadable{r.app, r.id})
			}
		}
		if len(rows) < resealRows {
			break
		}
		at = rows[len(rows)-1]
	}
	return found, nil
}
