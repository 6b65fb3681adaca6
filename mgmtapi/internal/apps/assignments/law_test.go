package assignments_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
)

// TestGroupAssignment_FollowsState performs calls in random order and compares the resulting assignments with those that follow from the
// final state: they must not depend on the order of the calls.
func TestGroupAssignment_FollowsState(t *testing.T) {
	w := apptest.New(t)
	w.Unrecorded()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		app := w.SCIMApp("HR")
		if rapid.Bool().Draw(rt, "connected") {
			w.Connect(app, apptest.All)
		}
		const n = 3
		var users, groups [n]string
		for i := range n {
			users[i] = w.User(fmt.Sprintf("u%d-%d", run, i))
			groups[i] = w.Group(fmt.Sprintf("g%d-%d", run, i))
		}
		// The expected state after the calls so far.
		member := map[[2]int]bool{}
		direct, active := map[int]bool{}, map[int]bool{0: true, 1: true, 2: true}
		var assigned []int // groups by priority
		index := rapid.IntRange(0, n-1)

		rt.Repeat(map[string]func(*rapid.T){
			"join": func(rt *rapid.T) {
				g, u := index.Draw(rt, "group"), index.Draw(rt, "user")
				if active[u] {
					w.Join(groups[g], users[u])
					member[[2]int{g, u}] = true
				}
			},
			"leave": func(rt *rapid.T) {
				g, u := index.Draw(rt, "group"), index.Draw(rt, "user")
				w.Leave(groups[g], users[u])
				delete(member, [2]int{g, u})
			},
			"assign group": func(rt *rapid.T) {
				g := index.Draw(rt, "group")
				w.Put("/apps/"+app+"/groups/"+groups[g], nil).OK()
				if !slices.Contains(assigned, g) {
					assigned = append(assigned, g)
				}
			},
			"unassign group": func(rt *rapid.T) {
				g := index.Draw(rt, "group")
				if i := slices.Index(assigned, g); i >= 0 {
					w.Delete("/apps/" + app + "/groups/" + groups[g]).OK(204)
					assigned = slices.Delete(assigned, i, i+1)
				}
			},
			"assign user": func(rt *rapid.T) {
				u := index.Draw(rt, "user")
				if active[u] {
					w.Assign(app, users[u])
					direct[u] = true
				}
			},
			"unassign user": func(rt *rapid.T) {
				u := index.Draw(rt, "user")
				if direct[u] {
					w.Delete("/apps/" + app + "/users/" + users[u]).OK()
					delete(direct, u)
				}
			},
			"rename user": func(rt *rapid.T) {
				u := index.Draw(rt, "user")
				w.Post("/users/"+users[u], `{"profile":{"lastName":"`+rapid.StringMatching("[A-Z]{3}").Draw(rt, "name")+`"}}`).OK()
			},
			"deactivate user": func(rt *rapid.T) {
				u := index.Draw(rt, "user")
				if active[u] {
					w.Post("/users/"+users[u]+"/lifecycle/deactivate", nil).OK()
					delete(active, u)
					delete(direct, u)
					for g := range n {
						delete(member, [2]int{g, u})
					}
				}
			},
			"activate user": func(rt *rapid.T) {
				u := index.Draw(rt, "user")
				if !active[u] {
					w.Post("/users/"+users[u]+"/lifecycle/activate?sendEmail=false", nil).OK()
					active[u] = true
				}
			},
			"": func(rt *rapid.T) {
				want := map[string]string{} // from each assigned user to the scope and the group of the assignment
				for u, user := range users {
					i := slices.IndexFunc(assigned, func(g int) bool { return member[[2]int{g, u}] })
					switch {
					case direct[u]:
						want[user] = "USER"
					case i >= 0:
						want[user] = "GROUP " + groups[assigned[i]]
					}
				}
				var list []struct {
					ID, Scope string
					Profile   struct{ FamilyName string }
					Links     map[string]struct{ Href string } `json:"_links"`
				}
				w.Get("/apps/" + app + "/users").OK().Into(&list)
				got := map[string]string{}
				for _, u := range list {
					got[u.ID] = u.Scope
					if href := u.Links["group"].Href; href != "" {
						got[u.ID] += " " + href[len(href)-20:]
					}
					require.Equal(rt, w.Get("/users/"+u.ID).OK().Text("profile", "lastName"), u.Profile.FamilyName)
				}
				require.Equal(rt, want, got)
			},
		})
	})
}
