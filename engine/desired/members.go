package desired

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Members are all members of a group. A write replaces the list.
type Members struct {
	Group   string
	Version int64 // of the list, independent of the version of the group
	Users   []string

	ChangedAt time.Time // set in the Members that the Store returns
}

// MemberDelta changes some members of a group. It is written only if Base is the stored version of the members (0 if there is none), and
// otherwise returns a *GapError, so that the loss of a delta does not remain unnoticed. Adding a member again, and removing a user who is
// not a member, have no effect.
type MemberDelta struct {
	Group         string
	Base, Version int64
	Add, Remove   []string
}

// check returns the users, sorted and without duplicates.
func (m *Members) check() ([]string, error) {
	if err := checkID("id", m.Group); err != nil {
		return nil, err
	}
	if err := checkVersion("version", m.Version); err != nil {
		return nil, err
	}
	return checkUsers("members", m.Users, MaxMembers)
}

func (d *MemberDelta) check() (add, remove []string, err error) {
	if err := checkID("id", d.Group); err != nil {
		return nil, nil, err
	}
	if err := checkVersion("version", d.Version); err != nil {
		return nil, nil, err
	}
	if d.Base < 0 || d.Base >= d.Version {
		return nil, nil, &InputError{"base", "base must be at least 0 and lower than the version"}
	}
	if add, err = checkUsers("add", d.Add, MaxMembers); err != nil {
		return nil, nil, err
	}
	if remove, err = checkUsers("remove", d.Remove, MaxMembers-len(add)); err != nil {
		return nil, nil, err
	}
	for _, id := range add {
		if _, both := slices.BinarySearch(remove, id); both {
			return nil, nil, &InputError{"remove", fmt.Sprintf("the user %q is in add, too", id)}
		}
	}
	return add, remove, nil
}

func checkUsers(member string, ids []string, limit int) ([]string, error) {
	if len(ids) > limit {
		return nil, &InputError{member, fmt.Sprintf("at most %d users are allowed in one change", MaxMembers)}
	}
	for i, id := range ids {
		if err := checkID(fmt.Sprintf("%s[%d]", member, i), id); err != nil {
			return nil, err
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(ids))), nil
}

// maxMarkedMembers is the number of changed members up to which the mark names them. A mark of a larger change requests that the engine
// reads the whole membership.
const maxMarkedMembers = 1000

// memberChange collects the changed members of a group for the mark.
type memberChange struct {
	users []string
	all   bool
}

func (c *memberChange) add(ids []string) {
	if c.all = c.all || len(c.users)+len(ids) > maxMarkedMembers; c.all {
		c.users = nil
		return
	}
	c.users = append(c.users, ids...)
}

func (c *memberChange) mark(app, group string) []engine.Mark {
	if len(c.users) == 0 && !c.all {
		return nil
	}
	return []engine.Mark{{App: app, Kind: engine.Group, ID: group, Members: c.users, AllMembers: c.all}}
}

// putMembers replaces the members of a group. It returns the marks.
func putMembers(ctx context.Context, tx *sqldb.Tx, app string, m *Members, now int64) ([]engine.Mark, Result, error) {
	users, err := m.check()
	if err != nil {
		return nil, "", err
	}
	stored, err := memberVersion(ctx, tx, app, m.Group)
	switch {
	case err != nil:
		return nil, "", err
	case stored > m.Version:
		return nil, Stale, &StaleError{Current: stored}
	case stored == m.Version:
		return sameMembers(ctx, tx, app, m, users)
	}
	var c memberChange
	kept := make(map[string]bool, len(users)) // of users: members already
	for after := ""; ; {
		page, err := memberPage(ctx, tx, app, m.Group, after, MaxPage)
		if err != nil {
			return nil, "", err
		}
		var gone []string
		for _, id := range page {
			if _, ok := slices.BinarySearch(users, id); ok {
				kept[id] = true
			} else {
				gone = append(gone, id)
			}
		}
		if err := deleteMembers(ctx, tx, app, m.Group, gone); err != nil {
			return nil, "", err
		}
		c.add(gone)
		if len(page) < MaxPage {
			break
		}
		after = page[len(page)-1]
	}
	users = slices.DeleteFunc(users, func(id string) bool { return kept[id] })
	if err := insertMembers(ctx, tx, app, m.Group, users); err != nil {
		return nil, "", err
	}
	c.add(users)
	return finishMembers(ctx, tx, app, m.Group, m.Version, now, &c)
}

// sameMembers compares the stored members, which have the version of m, with the users of m.
func sameMembers(ctx context.Context, tx *sqldb.Tx, app string, m *Members, users []string) ([]engine.Mark, Result, error) {
	for after := ""; ; {
		page, err := memberPage(ctx, tx, app, m.Group, after, MaxPage)
		if err != nil {
			return nil, "", err
		}
		n := min(len(page), len(users))
		if !slices.Equal(page, users[:n]) || len(page) < MaxPage && len(users) > n {
			return nil, "", &ContentError{Version: m.Version}
		}
		if users = users[n:]; len(page) < MaxPage {
			return nil, Unchanged, nil
		}
		after = page[len(page)-1]
	}
}

// changeMembers applies a delta. It returns the marks.
func changeMembers(ctx context.Context, tx *sqldb.Tx, app string, d *MemberDelta, now int64) ([]engine.Mark, Result, error) {
	add, remove, err := d.check()
	if err != nil {
		return nil, "", err
	}
	stored, err := memberVersion(ctx, tx, app, d.Group)
	switch {
	case err != nil:
		return nil, "", err
	case stored > d.Version:
		return nil, Stale, &StaleError{Current: stored}
	case stored < d.Version && stored != d.Base:
		return nil, "", &GapError{Base: d.Base, Current: stored}
	}
	in, err := membersAmong(ctx, tx.Dialect(), tx, app, d.Group, slices.Concat(add, remove))
	if err != nil {
		return nil, "", err
	}
	add = slices.DeleteFunc(add, func(id string) bool { return in[id] })
	remove = slices.DeleteFunc(remove, func(id string) bool { return !in[id] })
	if stored == d.Version {
		if len(add)+len(remove) > 0 {
			return nil, "", &ContentError{Version: stored}
		}
		return nil, Unchanged, nil
	}
	if err := insertMembers(ctx, tx, app, d.Group, add); err != nil {
		return nil, "", err
	}
	if err := deleteMembers(ctx, tx, app, d.Group, remove); err != nil {
		return nil, "", err
	}
	var c memberChange
	c.add(add)
	c.add(remove)
	return finishMembers(ctx, tx, app, d.Group, d.Version, now, &c)
}

func finishMembers(ctx context.Context, tx *sqldb.Tx, app, group string, version, now int64, c *memberChange) ([]engine.Mark,
	Result, error) {
	_, err := tx.Exec(ctx, `INSERT INTO {desired_members} (app_id, group_id, version, changed_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (app_id, group_id) DO UPDATE SET version = excluded.version, changed_at = excluded.changed_at`, app, group, version, now)
	marks := c.mark(app, group)
	if len(marks) == 0 {
		return nil, Unchanged, err
	}
	return marks, Applied, err
}

// memberVersion returns the stored version of the members of a group, 0 if there is none.
func memberVersion(ctx context.Context, q sqldb.Queryer, app, group string) (version int64, err error) {
	err = q.QueryRow(ctx, `SELECT version FROM {desired_members} WHERE app_id = ? AND group_id = ?`, app, group).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return version, err
}

func memberPage(ctx context.Context, q sqldb.Queryer, app, group, after string, limit int) ([]string, error) {
	return texts(ctx, q, `SELECT user_id FROM {desired_member} WHERE app_id = ? AND group_id = ? AND user_id > ? ORDER BY user_id`+sqldb.Limit,
		app, group, after, limit)
}

func insertMembers(ctx context.Context, tx *sqldb.Tx, app, group string, users []string) error {
	for part := range slices.Chunk(users, rowsPerStatement) {
		args := make([]any, 0, 3*len(part))
		for _, id := range part {
			args = append(args, app, group, id)
		}
		_, err := tx.Exec(ctx, `INSERT INTO {desired_member} (app_id, group_id, user_id) VALUES (?, ?, ?)`+
			strings.Repeat(`, (?, ?, ?)`, len(part)-1), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteMembers deletes members, whose ids ascend.
func deleteMembers(ctx context.Context, tx *sqldb.Tx, app, group string, users []string) error {
	for part := range slices.Chunk(users, rowsPerStatement) {
		where, args := amongIDs("user_id", part, app, group)
		if _, err := tx.Exec(ctx, `DELETE FROM {desired_member} WHERE app_id = ? AND group_id = ? AND `+where, args...); err != nil {
			return err
		}
	}
	return nil
}

// membersAmong returns which of the users are members.
func membersAmong(ctx context.Context, d sqldb.Dialect, q sqldb.Queryer, app, group string, users []string) (map[string]bool, error) {
	in := make(map[string]bool, len(users))
	for part := range slices.Chunk(users, rowsPerStatement) {
		query, args := selectByID(d, "user_id", "{desired_member}", "user_id", "app_id = ? AND group_id = ?", []any{app, group}, part)
		found, err := texts(ctx, q, query, args...)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			in[id] = true
		}
	}
	return in, nil
}

// texts returns the rows of a query with one column.
func texts(ctx context.Context, q sqldb.Queryer, query string, args ...any) (out []string, err error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
