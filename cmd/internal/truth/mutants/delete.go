package mutants

import (
	"net/http"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// deletedUsers stores deleted users by path.
type deletedUsers struct {
	mu    sync.Mutex
	users map[string]*scim.Object
}

func (g *deletedUsers) add(path string, o *scim.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.users == nil {
		g.users = map[string]*scim.Object{}
	}
	g.users[path] = o
}

func (g *deletedUsers) at(path string) *scim.Object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.users[path]
}

func (g *deletedUsers) byUserName(name string) *scim.Object { return g.with("userName", name) }

// with returns the deleted user with this value of an attribute, or nil.
func (g *deletedUsers) with(attribute, text string) *scim.Object {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.users {
		if o.Text(attribute) == text {
			return o
		}
	}
	return nil
}

// trackDeleted returns a wrapper that stores each deleted user and lets fn handle all other requests and each repeated DELETE.
//
//go:noinline
func trackDeleted(fn func(next http.Handler, r *http.Request, g *deletedUsers) *reply) wrap {
	return func(next http.Handler) http.Handler {
		g := &deletedUsers{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !deleteUser(r) {
				fn(next, r, g).send(w)
				return
			}
			was := stored(next, r)
			rep := serve(next, r)
			if was == nil && g.at(r.URL.Path) != nil {
				rep = fn(next, r, g)
			}
			if was != nil && rep.ok() {
				g.add(r.URL.Path, was)
			}
			rep.send(w)
		})
	}
}

var del = []Mutant{
	{"delete.status-200", "DELETE returns 200 with the user", instead(deleteUser, func(next http.Handler, r *http.Request) *reply {
		was := stored(next, r)
		if rep := serve(next, r); !rep.ok() {
			return rep
		}
		return newReply(200, was)
	})},
	{"delete.keeps", "DELETE returns 204 without deleting the user", instead(deleteUser, func(next http.Handler, r *http.Request) *reply {
		if stored(next, r) == nil {
			return serve(next, r)
		}
		return &reply{status: 204, header: http.Header{}}
	})},
	{"delete.still-readable", "a deleted user can still be read",
		trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
			if o := g.at(r.URL.Path); o != nil && r.Method == http.MethodGet {
				return newReply(200, o)
			}
			return serve(next, r)
		})},
	{"delete.twice-204", "a second DELETE returns 204", trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
		if g.at(r.URL.Path) != nil && r.Method == http.MethodDelete {
			return &reply{status: 204, header: http.Header{}}
		}
		return serve(next, r)
	})},
	{"delete.patch-200", "PATCH of a deleted user returns 200", trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
		if o := g.at(r.URL.Path); o != nil && r.Method == http.MethodPatch {
			return newReply(200, o)
		}
		return serve(next, r)
	})},
	{"delete.still-listed", "a deleted user is still found by its userName",
		trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
			rep := serve(next, r)
			if m := userNameOperand.FindStringSubmatch(r.URL.Query().Get("filter")); m != nil && listUsers(r) && rep.ok() {
				if o := g.byUserName(m[1]); o != nil {
					list := rep.object()
					list.Set("Resources", append(list.Array("Resources"), o))
					list.Set("totalResults", len(list.Array("Resources")))
					rep.body = list.AppendJSON(nil)
				}
			}
			return rep
		})},
	{"delete.still-counted", "a deleted user is still counted in totalResults",
		trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
			rep := serve(next, r)
			if m := userNameOperand.FindStringSubmatch(r.URL.Query().Get("filter")); m != nil && listUsers(r) && rep.ok() &&
				g.byUserName(m[1]) != nil {
				list := rep.object()
				list.Set("totalResults", 1)
				rep.body = list.AppendJSON(nil)
			}
			return rep
		})},
	{"delete.name-taken", "the userName of a deleted user stays reserved",
		trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
			if createUser(r) {
				if sent, err := scim.Decode(readBody(r)); err == nil && g.byUserName(sent.Text("userName")) != nil {
					return failure(409, scim.Uniqueness)
				}
			}
			return serve(next, r)
		})},
	{"delete.unknown-500", "DELETE of an unknown id causes 500", after(deleteUser, func(_ *http.Request, rep *reply) {
		if rep.status == 404 {
			*rep = *failure(500, "")
		}
	})},
}
