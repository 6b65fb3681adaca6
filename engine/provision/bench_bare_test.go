package provision_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

const (
	benchLatency     = 20 * time.Millisecond // of each response
	benchConcurrency = 8                     // concurrent requests
)

// workload is a type of work with its requests.
type workload struct {
	principals int
	seeded     int // users with an account at the start
	members    int
	mark       func(n int) engine.Mark
	requests   func(n int) []plan.Request // requests of one principal, in order
}

func object(format string, args ...any) *scim.Object {
	o, err := scim.Decode(fmt.Appendf(nil, format, args...))
	if err != nil {
		panic(err) // constant input
	}
	return o
}

func lookupOf(endpoint, attribute, value string) plan.Request {
	return plan.Request{Method: http.MethodGet,
		Path: fmt.Sprintf("/%s?filter=%s%%20eq%%20%%22%s%%22&startIndex=1&count=100", endpoint, attribute, value)}
}

func memberList(from, to int) string {
	var list []byte
	for n := from; n < to; n++ {
		if n > from {
			list = append(list, ',')
		}
		list = fmt.Appendf(list, `{"value":"r-%s","display":"%[1]s"}`, crowdID(n))
	}
	return string(list)
}

func groupOf(n int) string { return fmt.Sprintf("g%05d", n) }

// workloads are the most frequent types of work. Each lists the requests that the engine sends, so that the loop without an engine sends
// the same.
var workloads = map[string]workload{
	"creates": {
		principals: 800,
		mark:       func(n int) engine.Mark { return userMark(crowdID(n)) },
		requests: func(n int) []plan.Request {
			body := object(`{"schemas":[%q],"externalId":%q,"userName":%[2]q,"password":"placeholder","groups":[],"active":true}`, scim.UserSchema,
				crowdID(n))
			return []plan.Request{lookupOf("Users", "userName", crowdID(n)), {Method: http.MethodPost, Path: "/Users", Body: body}}
		},
	},
	"updates": {
		principals: 800, seeded: 800,
		mark: func(n int) engine.Mark { return userMark(crowdID(n)) },
		requests: func(n int) []plan.Request {
			path := "/Users/r-" + crowdID(n)
			body := object(`{"schemas":[%q],"id":%q,"externalId":%q,"userName":%[3]q,"active":true}`, scim.UserSchema, "r-"+crowdID(n), crowdID(n))
			return []plan.Request{{Method: http.MethodGet, Path: path}, {Method: http.MethodPut, Path: path, Body: body}}
		},
	},
	"groups": {
		principals: 600, seeded: 20, members: 20,
		mark: func(n int) engine.Mark { return groupMark(groupOf(n)) },
		requests: func(n int) []plan.Request {
			name := "Tea" + groupOf(n)[1:]
			body := object(`{"schemas":[%q],"displayName":%q,"members":[%s]}`, scim.GroupSchema, name, memberList(0, 20))
			return []plan.Request{lookupOf("Groups", "displayName", name), {Method: http.MethodPost, Path: "/Groups", Body: body}}
		},
	},
	"large-group": {
		principals: 1, seeded: 20_000, members: 20_000,
		mark: func(int) engine.Mark { return groupMark("g") },
		requests: func(int) []plan.Request {
			body := object(`{"schemas":[%q],"displayName":"Tea","members":[%s]}`, scim.GroupSchema, memberList(0, plan.DefaultBatch))
			out := []plan.Request{lookupOf("Groups", "displayName", "Tea"), {Method: http.MethodPost, Path: "/Groups", Body: body}}
			for from := plan.DefaultBatch; from < 20_000; from += plan.DefaultBatch {
				patch := object(`{"schemas":[%q],"Operations":[{"op":"add","path":"members","value":[%s]}]}`, scim.PatchOpMessage,
					memberList(from, from+plan.DefaultBatch))
				out = append(out, plan.Request{Method: http.MethodPatch, Path: "/Groups/rg-1", Body: patch})
			}
			return out
		},
	},
}

// bare sends the requests of the workload without an engine and returns the time taken.
func (c workload) bare(b *testing.B, baseURL string) time.Duration {
	b.Helper()
	client, err := connect.New(connect.Config{BaseURL: baseURL, Network: &connect.Network{}, UserAgent: "bare"})
	require.NoError(b, err)
	all := make([][]plan.Request, c.principals)
	for n := range all {
		all[n] = c.requests(n)
	}
	next := make(chan []plan.Request)
	start := time.Now()
	var workers sync.WaitGroup
	for range benchConcurrency {
		workers.Go(func() {
			for requests := range next {
				for _, r := range requests {
					if answer := client.Do(b.Context(), r); answer.Err != nil || answer.Status >= 300 {
						b.Errorf("%s %s: %d %v", r.Method, r.Path, answer.Status, answer.Err)
					}
				}
			}
		})
	}
	for _, requests := range all {
		next <- requests
	}
	close(next)
	workers.Wait()
	return time.Since(start)
}

// throughEngine measures the same work of the engine, from its start to the last stored result.
func (c workload) throughEngine(b *testing.B, db *sqldb.DB) (took time.Duration, requests int) {
	b.Helper()
	s := newLargeWorld(b, db, c.seeded)
	s.fake.latency = benchLatency
	s.target(func(t *engine.Target) { t.Concurrency = benchConcurrency })
	s.directory.first = c.members
	marks := make([]engine.Mark, c.principals)
	for n := range marks {
		marks[n] = c.mark(n)
	}
	s.mark(marks...)
	start := time.Now()
	e := s.start(provision.Options{}, 0)
	s.wait(e, app)
	took = time.Since(start)
	s.stop(e)
	return took, s.fake.counted()
}

// BenchmarkAgainstBareLoop compares the engine with a loop that sends the same requests with the same client and concurrency, to a target
// with a latency of 20 ms. Runs of the engine and of the loop alternate. %_of_bare is the median of the engine's speed relative to the
// loop. Commits wait for the disk. Engine and loop use the default number of processors of cmd/scimwright, unless -cpu or GOMAXPROCS sets
// another one.
func BenchmarkAgainstBareLoop(b *testing.B) {
	againstBareLoop(b, func(b *testing.B) *sqldb.DB { return sqldbtest.SQLite(b, sqldbtest.Durable) })
}

func againstBareLoop(b *testing.B, database func(b *testing.B) *sqldb.DB) {
	b.Helper()
	for _, name := range []string{"creates", "updates", "groups", "large-group"} {
		c := workloads[name]
		b.Run(name, func(b *testing.B) {
			processors(b)
			var ratios []float64
			for b.Loop() {
				h, server := newGroupTarget(b)
				h.latency = benchLatency
				bare := c.bare(b, server.URL)
				took, sent := c.throughEngine(b, database(b))
				require.Equal(b, h.counted(), sent, "number of requests")
				ratios = append(ratios, 100*bare.Seconds()/took.Seconds())
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "%_of_bare")
		})
	}
}
