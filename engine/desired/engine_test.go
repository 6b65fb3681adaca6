package desired_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scim"
)

// discard is a desired.Engine without effect.
type discard struct{}

func (discard) Mark(context.Context, engine.Execer, ...engine.Mark) error             { return nil }
func (discard) MarkAll(context.Context, engine.Execer, engine.MarkAll) (int64, error) { return 0, nil }
func (discard) Forget(context.Context, engine.Execer, string) error                   { return nil }
func (discard) Wake(...string)                                                        {}

// failing returns err from Mark after some calls.
type failing struct {
	*recorder
	after int
	err   error
}

func (f *failing) Mark(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error {
	if f.after--; f.after < 0 {
		return f.err
	}
	return f.recorder.Mark(ctx, tx, marks...)
}

// withEngine opens a store and an engine on the same database.
func withEngine(t testing.TB, db *sqldb.DB) (*desired.Store, *provision.Engine) {
	t.Helper()
	s := open(t, db)
	store, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	e, err := provision.New(provision.Options{Store: store, Directory: s, RetryInitial: time.Millisecond, RetryMax: 10 * time.Millisecond})
	require.NoError(t, err)
	s.Attach(e)
	return s, e
}

// benchBatch uploads users and writes bare marks, each 1000 in one transaction, in turns: one upload, then as many marks.
func benchBatch(b *testing.B, s *desired.Store, e *provision.Engine, update func(func(engine.Execer) error), lines int) {
	b.Helper()
	var ratios []float64
	var upload, bare time.Duration
	for n := 0; b.Loop(); n++ {
		crm, plain := fmt.Sprint("crm-", n), fmt.Sprint("plain-", n)
		_, err := s.PutApp(b.Context(), app(crm, 1))
		require.NoError(b, err)
		var text strings.Builder
		marks := make([]engine.Mark, lines)
		for i := range lines {
			text.WriteString(putLine(i, 1) + "\n")
			marks[i] = engine.Mark{App: plain, Kind: engine.User, ID: fmt.Sprintf("u-%06d", i)}
		}
		start := time.Now()
		for part := range slices.Chunk(marks, 1000) {
			update(func(tx engine.Execer) error { return e.Mark(b.Context(), tx, part...) })
		}
		marking := time.Since(start)
		start = time.Now()
		report, err := s.Batch(b.Context(), crm, strings.NewReader(text.String()), desired.BatchOptions{})
		writing := time.Since(start)
		require.NoError(b, err)
		require.Equal(b, lines, report.Applied)
		upload, bare = upload+writing, bare+marking
		ratios = append(ratios, 100*marking.Seconds()/writing.Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "%_of_mark")
	b.ReportMetric(float64(lines*b.N)/upload.Seconds(), "lines/s")
	b.ReportMetric(float64(lines*b.N)/bare.Seconds(), "marks/s")
}

// target is a fake target with an engine that provisions the app crm of a store.
type target struct {
	*enginetest.Target
	url string
}

func newTarget(t testing.TB) *target {
	t.Helper()
	out := &target{Target: enginetest.NewTarget()}
	server := httptest.NewServer(out.Target)
	t.Cleanup(server.Close)
	out.url = server.URL
	return out
}

// names returns the userNames of the active accounts, and for each group the userNames of its members.
func (x *target) names() (users []string, groups map[string][]string) {
	byID := map[string]string{}
	for _, u := range x.Users() {
		byID[u.ID()] = u.Text("userName")
		if active, ok := u.Bool("active"); active || !ok {
			users = append(users, u.Text("userName"))
		}
	}
	groups = map[string][]string{}
	for _, g := range x.Groups() {
		members := []string{}
		for _, m := range g.Array("members") {
			member, _ := m.(*scim.Object)
			members = append(members, byID[member.Text("value")])
		}
		slices.Sort(members)
		groups[g.Text("displayName")] = members
	}
	slices.Sort(users)
	return users, groups
}
