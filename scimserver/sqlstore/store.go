package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// Dialect identifies a database system.
type Dialect string

// The supported databases: SQLite 3.35 or later, PostgreSQL 15 or later.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Options configure a store. Only Dialect is required.
type Options struct {
	// Dialect is the database system of the *sql.DB.
	Dialect Dialect
	// Types are the resource types, which must equal those of the server. Default: schema.UserType and schema.GroupType.
	Types []*schema.ResourceType
	// Schema is the PostgreSQL schema of the tables. Open creates it if it does not exist. Default: the current schema of the connection.
	Schema string
	// Prefix is the prefix of the names of all tables, indexes and sequences: lower case letters, digits and underscores, at most 20
	// characters. Default: "scimwright_", or no prefix if there is a Schema.
	Prefix string
}

// Store is a scimserver.Store, scimserver.Batcher, scimserver.RawReader and scimserver.IDAssigner. Several goroutines may use it
// concurrently.
type Store struct{ resources *scimstore.Store }

var (
	_ scimserver.Store     = (*Store)(nil)
	_ scimserver.Batcher   = (*Store)(nil)
	_ scimserver.RawReader = (*Store)(nil)

	_ scimserver.IDAssigner = (*Store)(nil)
)

// layoutName is the start of the table names, after the prefix.
const layoutName = "scim"

// Open returns a store in the embedder's database. It creates the tables, fills new indexes if the types have new attributes, and renames
// tables that earlier versions created without a prefix. All of this happens in one transaction: after an error or a crash the database is
// unchanged. Tables of other programs are not modified. The embedder closes the database.
func Open(ctx context.Context, db *sql.DB, o Options) (*Store, error) {
	wrapped, err := sqldb.Embed(ctx, db, string(o.Dialect), o.Schema, o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open: %w", err)
	}
	layout := scimstore.NewLayout(layoutName, o.Types...)
	// The tables of a database with collections of other names belong to the management API or a sandbox, and are not renamed.
	own := func(collection string) bool {
		return collection == layoutName+"_member" || strings.HasPrefix(collection, layoutName+"_type_")
	}
	docs, err := docstore.OpenAdopting(ctx, wrapped, nil, docstore.Adoption{Own: own}, layout.Tables()...)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open: %w", err)
	}
	return &Store{scimstore.New(docs, layout)}, nil
}

// AssignsIDs implements scimserver.IDAssigner. It returns true on SQLite and false on PostgreSQL.
func (s *Store) AssignsIDs() bool { return s.resources.AssignsIDs() }

// Get implements scimserver.Store.
func (s *Store) Get(ctx context.Context, typ, id string) (*scimserver.Record, error) {
	return s.resources.Get(ctx, typ, id)
}

// Create implements scimserver.Store.
func (s *Store) Create(ctx context.Context, rec *scimserver.Record, members []string) (*scimserver.Record, error) {
	return s.resources.Create(ctx, rec, members)
}

// CreateAll implements scimserver.Batcher.
func (s *Store) CreateAll(ctx context.Context, all []scimserver.NewRecord) ([]*scimserver.Record, error) {
	return s.resources.CreateAll(ctx, all)
}

// Replace implements scimserver.Store.
func (s *Store) Replace(ctx context.Context, rec *scimserver.Record, change scimserver.MemberChange) (*scimserver.Record, error) {
	return s.resources.Replace(ctx, rec, change)
}

// Delete implements scimserver.Store.
func (s *Store) Delete(ctx context.Context, typ, id string, version int64) error {
	return s.resources.Delete(ctx, typ, id, version)
}

// Scan implements scimserver.Store.
func (s *Store) Scan(ctx context.Context, typ string, f filter.Expr, after int64) iter.Seq2[*scimserver.Record, error] {
	return s.resources.Scan(ctx, typ, f, after)
}

// Select implements scimserver.Selector.
func (s *Store) Select(ctx context.Context, q scimserver.Query) (scimserver.Selection, bool, error) {
	return s.resources.Select(ctx, q)
}

// Members implements scimserver.Store.
func (s *Store) Members(ctx context.Context, group string, only []string) ([]scimserver.Member, error) {
	return s.resources.Members(ctx, group, only)
}

// MemberOf implements scimserver.Store.
func (s *Store) MemberOf(ctx context.Context, ids []string) (map[string][]scimserver.Membership, error) {
	return s.resources.MemberOf(ctx, ids)
}

// GetRaw implements scimserver.RawReader.
func (s *Store) GetRaw(ctx context.Context, typ, id string, o scimserver.RawOptions, buf []byte) (scimserver.Raw, error) {
	return s.resources.GetRaw(ctx, typ, id, o, buf)
}

// SelectRaw implements scimserver.RawReader.
func (s *Store) SelectRaw(ctx context.Context, q scimserver.RawQuery, buf []byte) (scimserver.RawSelection, bool, error) {
	return s.resources.SelectRaw(ctx, q, buf)
}

// SizeRaw implements scimserver.RawReader.
func (s *Store) SizeRaw(ctx context.Context, q scimserver.Query) (int64, error) {
	return s.resources.SizeRaw(ctx, q)
}

// ScanRaw implements scimserver.RawReader.
func (s *Store) ScanRaw(ctx context.Context, scan scimserver.RawScan,
	use func(order int64, id string, text []byte) error) (n int, last int64, err error) {
	return s.resources.ScanRaw(ctx, scan, use)
}

// EachMember implements scimserver.RawReader.
func (s *Store) EachMember(ctx context.Context, group string, use func(*scimserver.Member) error) error {
	return s.resources.EachMember(ctx, group, use)
}
