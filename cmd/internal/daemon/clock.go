package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// maxSkew is the maximum difference between the clocks of this machine and of the database that is not reported.
const maxSkew = time.Minute

// skew returns a text for the operator if the clock of this machine differs from that of a PostgreSQL database. With a wrong clock,
// receivers of webhooks reject messages, and tokens expire at other times.
func (d *database) skew(ctx context.Context, now func() time.Time) (text string, err error) {
	if d.Dialect() != sqldb.Postgres {
		return "", nil
	}
	began := now()
	var ms int64
	err = d.reader().QueryRow(ctx, `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`).Scan(&ms)
	if err != nil {
		return "", err
	}
	if there, ended := timeOf(ms), now(); there.Before(began.Add(-maxSkew)) || there.After(ended.Add(maxSkew)) {
		return fmt.Sprintf("the clock of this machine and that of the database differ by %s", ended.Sub(there).Abs().Round(time.Second)), nil
	}
	return "", nil
}

// certificateTime is the time before the expiry of a certificate at which warnings about it start.
const certificateTime = 14 * 24 * time.Hour

// certificateText returns a text for the operator if the certificate of the daemon is not valid, or expires within certificateTime.
func certificateText(secure *tls.Config, now time.Time) string {
	if secure == nil || secure.Certificates[0].Leaf == nil {
		return ""
	}
	switch leaf := secure.Certificates[0].Leaf; {
	case now.Before(leaf.NotBefore):
		return fmt.Sprintf("the certificate of the daemon is not valid before %s, and clients reject it: is the clock of this machine right?",
			leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Sprintf("the certificate of the daemon expired at %s, and clients reject it: replace it, and restart the daemon",
			leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Add(certificateTime).After(leaf.NotAfter):
		return fmt.Sprintf("the certificate of the daemon expires at %s: replace it, and restart the daemon",
			leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return ""
}
