package webhooks

import (
	"context"
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// resealRows is the number of endpoints in one transaction of Reseal.
const resealRows = 500

// Reseal encrypts the secrets of all endpoints again that the first key of desired.NewKeys does not decrypt, in several transactions. It
// returns the numbers of the endpoints with encrypted secrets and of those whose secrets no key decrypts, which it does not change. With
// another Seal, it encrypts all secrets again. An interrupted Reseal may be repeated.
func (s *Service) Reseal(ctx context.Context) (changed, lost int, err error) {
	after := ""
	for {
		var rows [][3]string // ids, encrypted secrets and scopes
		var n, missing int
		err := s.update(ctx, func(tx *sqldb.Tx) (err error) {
			if rows, err = sealedAfter(ctx, tx, after); err != nil {
				return err
			}
			n, missing, err = s.resealed(ctx, tx, rows)
			return err
		})
		if err != nil {
			return changed, lost, fmt.Errorf("webhooks: encrypt again: %w", err)
		}
		changed, lost = changed+n, lost+missing
		if len(rows) < resealRows {
			return changed, lost, nil
		}
		after = rows[len(rows)-1][0]
	}
}

// Unreadable lists the endpoints whose secrets no key decrypts. within is the beginning of the ids of the apps, such as that of a tenant.
// Rotate replaces their secrets.
func (s *Service) Unreadable(ctx context.Context, within string) (ids []string, err error) {
	for after := ""; ; {
		rows, err := sealedAfter(ctx, s.db.Reader(), after)
		if err != nil {
			return nil, fmt.Errorf("webhooks: check the secrets: %w", err)
		}
		for _, r := range rows {
			if _, err := s.o.Seal.Open(r[1], binding(r[0])); err != nil && strings.HasPrefix(r[2], within) {
				ids = append(ids, r[0])
			}
			after = r[0]
		}
		if len(rows) < resealRows {
			return ids, nil
		}
	}
}

func sealedAfter(ctx context.Context, tx sqldb.Queryer, after string) (out [][3]string, err error) {
	rows, err := tx.Query(ctx, `SELECT endpoint_id, secrets, scope FROM {webhook_endpoint} WHERE endpoint_id > ? ORDER BY endpoint_id LIMIT ?`,
		after, resealRows)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r [3]string
		if err := rows.Scan(&r[0], &r[1], &r[2]); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// resealed encrypts rows again. Secrets that Rotate has replaced since they were read are not changed: the first key has encrypted them.
func (s *Service) resealed(ctx context.Context, tx *sqldb.Tx, rows [][3]string) (changed, lost int, err error) {
	ring, _ := s.o.Seal.(interface {
		Current(sealed, binding string) bool
	})
	for _, r := range rows {
		id, sealed := r[0], r[1]
		if ring != nil && ring.Current(sealed, binding(id)) {
			continue
		}
		plain, err := s.o.Seal.Open(sealed, binding(id))
		if err != nil {
			lost++
			continue
		}
		text, err := s.o.Seal.Seal(plain, binding(id))
		if err != nil {
			return changed, lost, err
		}
		_, err = tx.Exec(ctx, `UPDATE {webhook_endpoint} SET secrets = ? WHERE endpoint_id = ? AND secrets = ?`, text, id, sealed)
		if err != nil {
			return changed, lost, err
		}
		changed++
	}
	return changed, lost, nil
}
