package scimserver_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// everyStore runs a test over the stores of eachStore and over PostgreSQL.
func everyStore(t *testing.T, run func(t *testing.T, h *harness), change ...func(*scimserver.Options)) {
	t.Run("map store", func(t *testing.T) { run(t, serve(t, newMapStore(), change...)) })
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(t, serve(t, storeOn(t, db), change...)) })
}

// parallel sends n requests concurrently and returns the responses.
func parallel(n int, send func(i int) *response) []*response {
	answers := make([]*response, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			answers[i] = send(i)
		})
	}
	close(start)
	wg.Wait()
	return answers
}

func count(answers []*response, status int) int {
	n := 0
	for _, a := range answers {
		if a.status == status {
			n++
		}
	}
	return n
}

func TestParallelPosts_CreateOneUser(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		const n = 24
		names := []string{"ann", "Ann", "ANN"}
		answers := parallel(n, func(i int) *response { return h.do(t, http.MethodPost, "/Users", user(names[i%len(names)])) })
		require.Equal(t, 1, count(answers, http.StatusCreated))
		for _, a := range answers {
			if a.status != http.StatusCreated {
				a.wantError(t, http.StatusConflict, scim.Uniqueness)
			}
		}
		total, _ := h.get(t, "/Users").list(t, "id")
		require.Equal(t, "1", total)
	})
}

func TestTwoWritersWithOneETag(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "ann")
		path := "/Users/" + ann.id()
		tag := ann.header.Get("ETag")
		for round := range 5 {
			answers := parallel(2, func(i int) *response {
				body := user("ann", object{"title": fmt.Sprintf("%d by %d", round, i)})
				return h.do(t, http.MethodPut, path, body, header("If-Match", tag))
			})
			require.Equal(t, 1, count(answers, http.StatusOK))
			for _, a := range answers {
				if a.status != http.StatusOK {
					a.wantError(t, http.StatusPreconditionFailed, "")
				} else {
					tag = a.header.Get("ETag")
				}
			}
		}
	})
}

func TestParallelPatches_AllApplied(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		const n = 16
		var ids []string
		for i := range n {
			ids = append(ids, h.newUser(t, fmt.Sprintf("u%d", i)).id())
		}
		team := h.newGroup(t, "team")
		path := "/Groups/" + team.id()
		answers := parallel(n, func(i int) *response { return h.patch(t, path, op("add", "members", refs(ids[i]))) })
		require.Equal(t, n, count(answers, http.StatusNoContent))
		require.Len(t, h.get(t, path).body.Array("members"), n)
		answers = parallel(n, func(i int) *response {
			return h.patch(t, path, op("remove", fmt.Sprintf("members[value eq %q]", ids[i])))
		})
		require.Equal(t, n, count(answers, http.StatusNoContent))
		require.Empty(t, h.get(t, path).body.Array("members"))
	})
}

// TestReads_AtomicUserPatch checks that no read returns half of a PATCH of a user.
func TestReads_AtomicUserPatch(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		ann := h.newUser(t, "ann", object{"title": "0", "nickName": "0"})
		path := "/Users/" + ann.id()
		done := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					a := h.do(t, http.MethodGet, path, nil)
					if a.json("title") != a.json("nickName") {
						t.Errorf("a partial change is visible: %s", a.text)
						return
					}
				}
			})
		}
		for i := range 30 {
			h.patch(t, path, op("replace", "title", fmt.Sprint(i)), op("replace", "nickName", fmt.Sprint(i))).want(t, http.StatusOK)
		}
		close(done)
		wg.Wait()
	})
}

// TestReads_AtomicGroupPatch checks that no read returns half of a PATCH of a group.
func TestReads_AtomicGroupPatch(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		ids := []string{h.newUser(t, "0").id(), h.newUser(t, "1").id()}
		path := "/Groups/" + h.newGroup(t, "0", ids[0]).id()
		done := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					a := h.do(t, http.MethodGet, path+"?attributes=displayName,members.display", nil)
					members := a.body.Array("members")
					if len(members) != 1 || members[0].(*scim.Object).Text("display") != a.body.Text("displayName") {
						t.Errorf("a partial change is visible: %s", a.text)
						return
					}
				}
			})
		}
		for i := range 30 {
			name := (i + 1) % 2
			h.patch(t, path, op("replace", "displayName", fmt.Sprint(name)), op("replace", "members", refs(ids[name]))).want(t, http.StatusNoContent)
		}
		close(done)
		wg.Wait()
	})
}

// TestReads_AtomicBulkCycle checks for a store that creates several resources in one step that no read sees a part of a cycle.
func TestReads_AtomicBulkCycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		h := serve(t, storeOn(t, db))
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true // read once more after the last write
				default:
				}
				a := h.do(t, http.MethodGet, "/Groups?count=1000", nil)
				for _, v := range a.body.Array("Resources") {
					g := v.(*scim.Object)
					if len(g.Array("members")) != 1 || g.Complex("meta").Text("version") != `W/"1"` {
						t.Errorf("a group without its initial member: %s", scim.AppendValue(nil, g))
						return
					}
				}
			}
		})
		for i := range 20 {
			results := h.bulk(t, bulkOf(
				bulkPost("a", "/Groups", group(fmt.Sprintf("a%d", i), "bulkId:b")),
				bulkPost("b", "/Groups", group(fmt.Sprintf("b%d", i), "bulkId:a")),
			))
			require.Equal(t, "201 201", statuses(results))
			require.Equal(t, `W/"1"`, results[0].Text("version"))
		}
		close(done)
		wg.Wait()
	})
}

// TestParallelDelete_LeavesNoMember checks that a deleted user is not a member of a group to which a parallel request adds the user.
func TestParallelDelete_LeavesNoMember(t *testing.T) {
	everyStore(t, func(t *testing.T, h *harness) {
		team := h.newGroup(t, "team")
		for i := range 10 {
			ann := h.newUser(t, fmt.Sprintf("ann %d", i))
			answers := parallel(2, func(i int) *response {
				if i == 0 {
					return h.do(t, http.MethodDelete, "/Users/"+ann.id(), nil)
				}
				return h.patch(t, "/Groups/"+team.id(), op("add", "members", refs(ann.id())))
			})
			require.Equal(t, http.StatusNoContent, answers[0].status, answers[0].text)
			require.Contains(t, []int{http.StatusNoContent, http.StatusBadRequest}, answers[1].status, answers[1].text)
			require.Empty(t, h.get(t, "/Groups/"+team.id()).body.Array("members"))
		}
	})
}
