package mgmtapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// A benchmark runs its variants in rounds: in each round, every variant runs for turnTime. Other load on the machine therefore affects all
// variants alike. The metrics are medians over the rounds: "us/NAME" is the time of one run of the variant NAME, "ratio/NAME" is that time
// divided by the time of the first variant in the same round.
const turnTime = 20 * time.Millisecond

// variant is a variant that a benchmark compares with others.
type variant struct {
	name string
	run  func(b *testing.B)
}

func compare(b *testing.B, variants ...variant) {
	b.Helper()
	costs, ratios := make([][]float64, len(variants)), make([][]float64, len(variants))
	took := make([]float64, len(variants))
	for round := 0; b.Loop(); round++ {
		for k := range variants {
			i := (round + k) % len(variants) // the order of the variants changes from round to round
			n, started := 0, time.Now()
			for n == 0 || time.Since(started) < turnTime {
				variants[i].run(b)
				n++
			}
			took[i] = time.Since(started).Seconds() / float64(n)
		}
		for i := range variants {
			costs[i], ratios[i] = append(costs[i], took[i]*1e6), append(ratios[i], took[i]/took[0])
		}
	}
	b.ReportMetric(0, "ns/op") // removes the metric ns/op, which would be the total of all variants
	for i, r := range variants {
		b.ReportMetric(median(costs[i]), "us/"+r.name)
		if i > 0 {
			b.ReportMetric(median(ratios[i]), "ratio/"+r.name)
		}
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// population is an organization with many users.
type population struct {
	*apitest.Env
	users int
	ids   []string
	turn  int
}

func login(i int) string { return fmt.Sprintf("user%06d@example.com", i) }

// newPopulation creates an organization with active users in the group Everyone, stored as the API stores them.
func newPopulation(b *testing.B, users int) *population {
	b.Helper()
	quiet := func(o *assembly.Options) { o.Logger = slog.New(slog.DiscardHandler) }
	c := &population{Env: apitest.New(b, sqldbtest.SQLite(b, sqldbtest.Durable), quiet), users: users}
	c.Unrecorded()
	ctx, now := b.Context(), c.Clock.Now()
	org, err := c.Model.Orgs.Get(ctx, c.Store.Reader(), model.OrgDocument)
	require.NoError(b, err)
	for len(c.ids) < users {
		require.NoError(b, c.Store.Update(ctx, func(tx *docstore.Tx) error {
			for range min(users-len(c.ids), 10_000) {
				id, name := model.NewID(model.KindUser), login(len(c.ids))
				user := model.User{Activated: now, Type: org.Value.UserType, Provider: model.ProviderService, Profile: map[string]any{
					"login": name, "email": name, "firstName": fmt.Sprintf("First%d", len(c.ids)%1000), "lastName": "Last",
					"title": fmt.Sprintf("Title %d", len(c.ids)%1000), "department": "Sales",
				}}
				user.Enter(model.UserActive, now)
				if _, err := c.Model.Users.Insert(ctx, tx, id, user); err != nil {
					return err
				}
				if _, err := c.Model.Memberships.Insert(ctx, tx, model.MembershipID(org.Value.Everyone, id),
					model.Membership{Group: org.Value.Everyone, User: id}); err != nil {
					return err
				}
				c.ids = append(c.ids, id)
			}
			return nil
		}))
	}
	require.NoError(b, c.Store.Update(ctx, func(tx *docstore.Tx) error {
		// updates the statistics of the query planner, as database servers do automatically after some time
		_, err := tx.SQL().Exec(ctx, "ANALYZE")
		return err
	}))
	return c
}

// send sends a request without a network.
func (c *population) send(b *testing.B, method, target, body string) []byte {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "SSWS "+apitest.Token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.API.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatal(method, target, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// nextUser returns the index of another user with each call.
func (c *population) nextUser() int {
	c.turn = (c.turn + 7919) % c.users
	return c.turn
}

// BenchmarkGrowth measures the cost of requests with 100,000 users relative to the cost with 1,000 users. The limit is 1.5.
func BenchmarkGrowth(b *testing.B) {
	few, many := newPopulation(b, 1000), newPopulation(b, 100_000)
	for _, m := range []struct {
		name   string
		target func(c *population) string
	}{
		{"read-by-id", func(c *population) string { return "/api/v1/users/" + c.ids[c.nextUser()] }},
		{"read-by-login", func(c *population) string { return "/api/v1/users/" + login(c.nextUser()) }},
		{"search-login-eq", func(c *population) string {
			return "/api/v1/users?search=" + url.QueryEscape(`profile.login eq "`+login(c.nextUser())+`"`)
		}},
		{"search-email-eq", func(c *population) string {
			return "/api/v1/users?search=" + url.QueryEscape(`profile.email eq "`+login(c.nextUser())+`"`)
		}},
		{"filter-id-eq", func(c *population) string {
			return "/api/v1/users?filter=" + url.QueryEscape(`id eq "`+c.ids[c.nextUser()]+`"`)
		}},
		{"first-page", func(*population) string { return "/api/v1/users?limit=200" }},
		{"first-page-of-active", func(*population) string {
			return "/api/v1/users?limit=200&filter=" + url.QueryEscape(`status eq "ACTIVE"`)
		}},
		{"first-page-of-members", func(c *population) string { return "/api/v1/groups/" + c.everyone(b) + "/users?limit=200" }},
	} {
		asking := func(c *population) func(b *testing.B) {
			return func(b *testing.B) { c.send(b, http.MethodGet, m.target(c), "") }
		}
		b.Run(m.name, func(b *testing.B) {
			compare(b, variant{"1000", asking(few)}, variant{"100000", asking(many)})
		})
	}
}

func (c *population) everyone(b *testing.B) string {
	org, err := c.Model.Orgs.Get(b.Context(), c.Store.Reader(), model.OrgDocument)
	require.NoError(b, err)
	return org.Value.Everyone
}

// BenchmarkListAgainstDocuments measures a page of 200 users relative to a query that reads 200 documents by their ids. The limit is 3.
func BenchmarkListAgainstDocuments(b *testing.B) {
	c := newPopulation(b, 10_000)
	compare(b,
		variant{"documents", func(b *testing.B) {
			docs, err := c.Model.Users.GetMany(b.Context(), c.Store.Reader(), c.ids[:200])
			if err != nil || len(docs) != 200 {
				b.Fatal(err)
			}
		}},
		variant{"list", func(b *testing.B) { c.send(b, http.MethodGet, "/api/v1/users?limit=200", "") }},
	)
}

// createTurn is the number of requests per turn of a variant.
const createTurn = 200

// BenchmarkCreateAgainstBare compares the creation of users without a password, over loopback, with a handler of net/http that decodes the
// body and inserts one document of the same kind into the same database. The API and the bare handler run in turns. The metric "throughput"
// is the throughput of the API divided by that of the bare handler, the median of all turns. The limit is 0.5. With one client, each commit
// contains one request; with 32 clients, a commit contains many requests.
func BenchmarkCreateAgainstBare(b *testing.B) {
	c := newPopulation(b, 100_000)
	bare := httptest.NewServer(http.HandlerFunc(c.insertBare))
	defer bare.Close()
	made := 0
	for _, clients := range []int{1, 32} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * clients}}
			defer client.CloseIdleConnections()
			turn := func(base string) float64 {
				started := time.Now()
				var work errgroup.Group
				work.SetLimit(clients)
				for range createTurn {
					made++
					name := fmt.Sprintf("new%d@example.com", made)
					work.Go(func() error {
						return post(client, base+"/api/v1/users",
							fmt.Sprintf(`{"profile":{"login":%q,"email":%q,"firstName":"First","lastName":"Last","title":"Title"}}`, name, name))
					})
				}
				require.NoError(b, work.Wait())
				return time.Since(started).Seconds() / createTurn
			}
			var throughput, costs, bareCosts []float64
			for b.Loop() {
				bareTook, took := turn(bare.URL), turn(c.Server.URL)
				throughput = append(throughput, bareTook/took)
				bareCosts, costs = append(bareCosts, bareTook*1e6), append(costs, took*1e6)
			}
			b.ReportMetric(0, "ns/op") // removes the metric ns/op, which would be the total of the API and the bare handler
			b.ReportMetric(median(throughput), "throughput")
			b.ReportMetric(median(bareCosts), "us/bare")
			b.ReportMetric(median(costs), "us/create")
		})
	}
}

// insertBare decodes and inserts a user, without any checks.
func (c *population) insertBare(w http.ResponseWriter, r *http.Request) {
	var user model.User
	err := json.NewDecoder(r.Body).Decode(&user)
	if err == nil {
		err = c.Store.Update(r.Context(), func(tx *docstore.Tx) error {
			_, err := c.Model.Users.Insert(r.Context(), tx, model.NewID(model.KindUser), user)
			return err
		})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(user)
}

func post(client *http.Client, target, body string) error {
	r, err := http.NewRequest(http.MethodPost, target, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "SSWS "+apitest.Token)
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d: %s", res.StatusCode, text)
	}
	return err
}

// BenchmarkAssignLargeGroup measures the response time of the assignment of a group of 10,000 users to an application. The limit is 1s.
// Another benchmark, with API and engine together, measures the provisioning.
func BenchmarkAssignLargeGroup(b *testing.B) {
	c := newPopulation(b, 10_000)
	group := c.everyone(b)
	var costs []float64
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		var app struct {
			ID string `json:"id"`
		}
		require.NoError(b,
			json.Unmarshal(c.send(b, http.MethodPost, "/api/v1/apps", fmt.Sprintf(`{"name":"scim2_test_app","label":"App %d"}`, i)), &app))
		b.StartTimer()
		started := time.Now()
		c.send(b, http.MethodPut, "/api/v1/apps/"+app.ID+"/groups/"+group, "")
		costs = append(costs, time.Since(started).Seconds())
	}
	b.ReportMetric(median(costs), "s/assignment")
}
