package scimserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// benchUsers is the number of users before a benchmark starts.
const benchUsers = 1000

// benchHandler returns a server with users on a database with durable writes.
func benchHandler(b *testing.B, db *sqldb.DB) (h http.Handler, ids []string) {
	b.Helper()
	h, err := scimserver.New(scimserver.Options{Store: storeOn(b, db), Tokens: scimserver.StaticTokens(token)})
	require.NoError(b, err)
	for i := range benchUsers {
		ids = append(ids, post(b, h, "/Users", benchUser(fmt.Sprintf("user%d", i))))
	}
	return h, ids
}

func benchUser(name string) string {
	return fmt.Sprintf(`{"schemas":[%q],"userName":%q,"externalId":"e-%s","name":{"givenName":"Given","familyName":"Family"},
		"displayName":"Given Family","emails":[{"value":"%s@example.com","type":"work","primary":true}],"active":true}`, scim.UserSchema, name,
		name, name)
}

func post(b *testing.B, h http.Handler, target, body string) (id string) {
	b.Helper()
	w := send(h, http.MethodPost, target, body)
	require.Equal(b, http.StatusCreated, w.Code, w.Body.String())
	o, err := scim.Decode(w.Body.Bytes())
	require.NoError(b, err)
	return o.Text("id")
}

func BenchmarkGetByID(b *testing.B) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		h, ids := benchHandler(b, db)
		i := 0
		for b.Loop() {
			if w := send(h, http.MethodGet, "/Users/"+ids[i%len(ids)], ""); w.Code != http.StatusOK {
				b.Fatal(w.Code)
			}
			i++
		}
	})
}

func BenchmarkUserNameEq(b *testing.B) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		h, ids := benchHandler(b, db)
		i := 0
		for b.Loop() {
			filter := fmt.Sprintf("userName eq %q", fmt.Sprintf("USER%d", i%len(ids)))
			if w := send(h, http.MethodGet, "/Users?filter="+url.QueryEscape(filter), ""); w.Code != http.StatusOK {
				b.Fatal(w.Code)
			}
			i++
		}
	})
}

func BenchmarkPost(b *testing.B) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		h, _ := benchHandler(b, db)
		i := 0
		for b.Loop() {
			post(b, h, "/Users", benchUser(fmt.Sprintf("new%d", i)))
			i++
		}
	}, sqldbtest.Durable)
}

// BenchmarkAddMember adds and removes one member of groups of different sizes, which must have the same cost.
func BenchmarkAddMember(b *testing.B) {
	for _, size := range []int{10, benchUsers - 1} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
				h, ids := benchHandler(b, db)
				members := make([]any, size)
				for i := range members {
					members[i] = scim.NewObject(scim.Member{Name: "value", Value: ids[i]})
				}
				group := post(b, h, "/Groups",
					fmt.Sprintf(`{"schemas":[%q],"displayName":"team","members":%s}`, scim.GroupSchema, scim.AppendValue(nil, members)))
				last := ids[len(ids)-1]
				patch := func(operation string) {
					body := fmt.Sprintf(`{"schemas":[%q],"Operations":[%s]}`, scim.PatchOpMessage, operation)
					if w := send(h, http.MethodPatch, "/Groups/"+group, body); w.Code != http.StatusNoContent {
						b.Fatal(w.Code, w.Body)
					}
				}
				for b.Loop() {
					patch(fmt.Sprintf(`{"op":"add","path":"members","value":[{"value":%q}]}`, last))
					patch(fmt.Sprintf(`{"op":"remove","path":"members[value eq \"%s\"]"}`, last))
				}
			})
		})
	}
}

// bulkCreates is the number of users that a bulk request of BenchmarkThousandCreates creates.
const bulkCreates = 1000

// BenchmarkThousandCreates compares one bulk request with the same number of sequential single requests, which must take at least five
// times as long.
func BenchmarkThousandCreates(b *testing.B) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		h, _ := benchHandler(b, db)
		n := 0
		next := func() string { n++; return benchUser(fmt.Sprintf("new%d", n)) }
		compete(b, []contender{
			{"bulk", func(b *testing.B) {
				operations := make([]string, bulkCreates)
				for i := range operations {
					operations[i] = fmt.Sprintf(`{"method":"POST","path":"/Users","bulkId":"%d","data":%s}`, i, next())
				}
				body := fmt.Sprintf(`{"schemas":[%q],"Operations":[%s]}`, scim.BulkRequestMessage, strings.Join(operations, ","))
				w := send(h, http.MethodPost, "/Bulk", body)
				require.Equal(b, http.StatusOK, w.Code)
				require.Equal(b, bulkCreates, strings.Count(w.Body.String(), `"status":"201"`))
			}},
			{"single", func(b *testing.B) {
				for range bulkCreates {
					post(b, h, "/Users", next())
				}
			}},
		})
	}, sqldbtest.Durable)
}
