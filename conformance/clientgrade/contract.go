package clientgrade

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/scim"
)

// A Contract defines which requests a client is expected to send to reach the desired state.
type Contract string

// The contracts. Resilient expects a client that recovers from every failure of a server. Catalog and Wizard expect exactly the requests of
// document C in docs/generated/management-requirements.md: Catalog for integrations of the catalog, Wizard for custom integrations. The
// zero value means Resilient.
const (
	Resilient Contract = "resilient"
	Catalog   Contract = "catalog"
	Wizard    Contract = "wizard"
)

// Contracts lists the contracts.
func Contracts() []Contract { return []Contract{Resilient, Catalog, Wizard} }

// ContractArea is the first part of the ids of the expectations that only Catalog and Wizard have.
const ContractArea = "contract"

// resilience lists the expectations of Resilient that Catalog and Wizard do not have, because in these situations their clients must stop
// the job.
var resilience = []string{Area + ".looks-after-lost-answer", Area + ".links-on-conflict", Area + ".comes-back"}

// expectations returns the expectations of a contract.
func (c Contract) expectations() []expectation {
	if c != Catalog && c != Wizard {
		return expectations()
	}
	result := slices.DeleteFunc(expectations(), func(e expectation) bool { return slices.Contains(resilience, e.ID) })
	return append(result, c.listed()...)
}

// listed returns the expectations that only Catalog and Wizard have, from document C in docs/generated/management-requirements.md.
func (c Contract) listed() []expectation {
	row := func(id, title, why, fix string, judge func(*grading)) expectation {
		return expectation{conformance.Check{ID: ContractArea + "." + id, Title: title, Level: conformance.Must, Why: why, Fix: fix}, judge}
	}
	const strict = "A server that works with a request outside the contract may still fail with a client that follows the contract."
	return []expectation{
		row("requests", "The client sends only requests that the contract lists", strict,
			"Look users up by userName and groups by displayName, list with count=100, and send bodies where the contract lists them.",
			c.requests),
		row("user-patch", "A PATCH of a user sets active or the password, and nothing else", strict,
			"Change active and the password by one replace without a path, and all other attributes by PUT. "+
				"Under the contract Wizard, change active and the password by PUT too.",
			userPatches),
		row("group-patch", "A PATCH of a group has only operations that the contract lists", strict,
			"Add and replace members by the path members, remove them by members[value eq \"id\"], and rename by a replace of id and displayName.",
			groupPatches),
		row("read-before-put", "Before each PUT, the client reads the resource by GET",
			"A PUT without a GET deletes values that administrators or other clients have set.",
			"Read the resource right before it is replaced, and send back all its attributes.", readBeforePut),
		row("lookup-before-create", "A user or group is created only after a lookup that found no user or group of this name", strict,
			"Look up the name before each create, and create only if the list is empty.", lookupBeforeCreate),
		row("create-body", "A create of a user has userName, active true, groups as an empty list, and a password", strict,
			"Send active true, an empty list of groups and a placeholder as password with each create.", createBodies),
		row("wanted-stay-active", "No PUT sets active to false for a user who must be active",
			"A PUT that changes a name and also sends active false locks the user out.",
			"Send active true in each PUT for a user who is assigned.", wantedStayActive),
		row("conflict-stops", "After a create is rejected with 409, no request for that user or group follows",
			"If the client continues, no administrator learns that the name is already used.",
			"End the job with an error, and wait until an administrator retries it.", conflictStops),
		row("no-other-form", "A rejected request is not repeated in another form",
			"A request in another form hides that the server does not support the first form.",
			"End the job with the error of the server if it returns 400, 405 or 501.", noOtherForm),
	}
}

// profileRequests is the expectation of a scenario with Profiles.
func profileRequests() expectation {
	return expectation{conformance.Check{
		ID: ContractArea + ".profile-requests", Title: "The client sends only requests that the clients of the profiles send",
		Level: conformance.Must,
		Why:   "A server that works with another request may still fail with the client of the profile.",
		Fix:   "Send the requests of the profile: list --profile prints its steps, and explain describes each step.",
	}, func(g *grading) {
		for i, x := range g.exchanges {
			query, err := url.ParseQuery(x.Query)
			ok := err == nil && slices.ContainsFunc(g.scenario.Profiles, func(p conformance.Profile) bool {
				return profiles.Sends(p, x.Method, x.Path, query, sent(x))
			})
			text := x.Method + " " + x.Path
			if x.Query != "" {
				text += "?" + x.Query
			}
			g.holds(ok, i, "request", "a request of a profile", text)
		}
	}}
}

// quoted matches a value in a filter.
const quoted = `"(?:[^"\\]|\\.)*"`

var lookups = map[string]*regexp.Regexp{
	"/Users":  regexp.MustCompile(`^userName eq ` + quoted + `$`),
	"/Groups": regexp.MustCompile(`^displayName eq ` + quoted + `$`),
}

// looksUp reports whether a request is a lookup by name.
func looksUp(x observed.Exchange) bool {
	pattern := lookups[x.Path]
	q, err := url.ParseQuery(x.Query)
	return x.Method == http.MethodGet && pattern != nil && err == nil && len(q) == 3 && pattern.MatchString(q.Get("filter")) &&
		q.Get("startIndex") == "1" && q.Get("count") == "100"
}

// listing reports whether a request reads a page of a collection without a filter.
func listing(x observed.Exchange) bool {
	q, err := url.ParseQuery(x.Query)
	return x.Method == http.MethodGet && lookups[x.Path] != nil && err == nil && len(q) == 2 &&
		q.Get("startIndex") != "" && q.Get("count") == "100"
}

func (c Contract) requests(g *grading) {
	single := regexp.MustCompile(`^/(Users|Groups)/[^/]+$`)
	for i, x := range g.exchanges {
		group := strings.HasPrefix(x.Path, "/Groups")
		ok := false
		switch plain := x.Query == ""; {
		case looksUp(x), listing(x):
			ok = true
		case lookups[x.Path] != nil:
			ok = x.Method == http.MethodPost && plain
		case !single.MatchString(x.Path) || !plain:
		case x.Method == http.MethodGet:
			ok = true
		case x.Method == http.MethodPut:
			ok = !group || c == Wizard
		case x.Method == http.MethodPatch:
			ok = c == Catalog
		case x.Method == http.MethodDelete:
			ok = group
		}
		text := x.Method + " " + x.Path
		if x.Query != "" {
			text += "?" + x.Query
		}
		g.holds(ok, i, "request", "a listed request", text)
	}
}

// operations returns the operations of a PATCH of a resource in the collection. The second result is false if the exchange is not such a
// PATCH.
func operations(x observed.Exchange, collection string) ([]*scim.Object, bool) {
	if x.Method != http.MethodPatch || !strings.HasPrefix(x.Path, collection+"/") {
		return nil, false
	}
	var all []*scim.Object
	if body := sent(x); body != nil {
		for _, v := range body.Array("Operations") {
			o, _ := v.(*scim.Object)
			all = append(all, o)
		}
	}
	return all, true
}

func userPatches(g *grading) {
	for i, x := range g.exchanges {
		ops, patch := operations(x, "/Users")
		if !patch {
			continue
		}
		ok := len(ops) == 1 && ops[0].Text("op") == "replace" && ops[0].Text("path") == ""
		if ok {
			value := ops[0].Complex("value")
			_, active := value.Bool("active")
			ok = value != nil && value.Len() == 1 && (active || value.Text("password") != "")
		}
		g.holds(ok, i, "operations", "a replace of active or password", describe(sent(x)))
	}
}

var memberPath = regexp.MustCompile(`^members\[value eq ` + quoted + `\]$`)

func groupPatches(g *grading) {
	for i, x := range g.exchanges {
		ops, patch := operations(x, "/Groups")
		if !patch {
			continue
		}
		ok := len(ops) > 0
		for _, o := range ops {
			path, value := o.Text("path"), o.Complex("value")
			switch op := o.Text("op"); {
			case (op == "add" || op == "replace") && path == "members":
			case op == "remove" && memberPath.MatchString(path):
			case op == "replace" && path == "" && value != nil && value.Len() == 2 && value.Text("id") != "" && value.Text("displayName") != "":
			default:
				ok = false
			}
		}
		g.holds(ok, i, "operations", "add, replace or remove of members, or replace of id and displayName", describe(sent(x)))
	}
}

func readBeforePut(g *grading) {
	read := map[string]bool{}
	for i, x := range g.exchanges {
		switch x.Method {
		case http.MethodGet:
			read[x.Path] = read[x.Path] || x.Status == http.StatusOK
		case http.MethodPut:
			g.holds(read[x.Path], i, "PUT "+x.Path, "an earlier GET of the same resource with status 200, without another PUT between them", "none")
			read[x.Path] = false
		}
	}
}

// nameOf returns the name that a lookup searches for, in lower case.
func nameOf(x observed.Exchange) string {
	q, _ := url.ParseQuery(x.Query)
	_, value, _ := strings.Cut(q.Get("filter"), " eq ")
	o, err := scim.Decode([]byte(`{"value":` + value + `}`))
	if err != nil {
		return ""
	}
	return strings.ToLower(o.Text("value"))
}

func lookupBeforeCreate(g *grading) {
	none := map[string]bool{}
	for i, x := range g.exchanges {
		if looksUp(x) {
			body, err := scim.Decode([]byte(x.ResponseBody))
			empty := err == nil && len(body.Array("Resources")) == 0
			none[x.Path+"\x00"+nameOf(x)] = (x.Status == http.StatusOK || x.Status == http.StatusNotFound) && empty
		}
		if collection, name := creates(x); name != "" {
			g.holds(none[collection+"\x00"+name], i, "create of "+name, "an earlier lookup that finds no resource of this name", "none")
			// A retry after a 429 or a 503 needs no further lookup.
			if x.Status != http.StatusTooManyRequests && x.Status != http.StatusServiceUnavailable {
				delete(none, collection+"\x00"+name)
			}
		}
	}
}

func createBodies(g *grading) {
	for i, x := range g.exchanges {
		if collection, name := creates(x); name == "" || collection != "/Users" {
			continue
		}
		body := &scim.Resource{Object: *sent(x)}
		active, _ := body.Bool("active")
		_, listed := body.Get("groups")
		g.holds(active && listed && len(body.Array("groups")) == 0 && body.Text("password") != "" && body.HasSchema(scim.UserSchema), i,
			"create of "+body.Text("userName"), "active true, groups as an empty list, a password and the schema of users", "something else")
	}
}

func wantedStayActive(g *grading) {
	for i, x := range g.exchanges {
		body := sent(x)
		if x.Method != http.MethodPut || !strings.HasPrefix(x.Path, "/Users/") || body == nil {
			continue
		}
		name := body.Text("userName")
		wanted := slices.ContainsFunc(g.scenario.Want.Users, func(u User) bool {
			return strings.EqualFold(u.UserName, name) && u.Attributes["active"] == true
		})
		if wanted {
			active, told := body.Bool("active")
			g.holds(active || !told, i, "active of "+name, "true", "false")
		}
	}
}

func conflictStops(g *grading) {
	stopped := map[string]bool{} // keyed by collection and name
	for i, x := range g.exchanges {
		for key := range stopped {
			collection, name, _ := strings.Cut(key, "\x00")
			_, again := creates(x)
			if x.Path == collection && (x.Method == http.MethodGet || again == name) {
				about := again == name || nameOf(x) == name || !looksUp(x) && !listing(x)
				g.holds(!about, i, "after the 409 for "+name, "no further request", x.Method+" "+x.Path)
			}
		}
		if collection, name := creates(x); name != "" && x.Status == http.StatusConflict {
			g.concerned = true
			stopped[collection+"\x00"+name] = true
		}
	}
}

func noOtherForm(g *grading) {
	rejected := map[string]string{} // path -> method of the rejected request
	for i, x := range g.exchanges {
		before, again := rejected[x.Path]
		if x.Method != http.MethodPatch && x.Method != http.MethodPut {
			continue
		}
		if again {
			g.holds(before == x.Method && g.sameBody(i, x), i, "after "+before+" "+x.Path+" was rejected", "no request in another form", x.Method)
		}
		if x.Status == http.StatusBadRequest || x.Status == http.StatusMethodNotAllowed || x.Status == http.StatusNotImplemented {
			g.concerned = true
			rejected[x.Path] = x.Method
		}
	}
}

// sameBody reports whether the previous request with the same method and path had the same body.
func (g *grading) sameBody(at int, x observed.Exchange) bool {
	for _, before := range slices.Backward(g.exchanges[:at]) {
		if before.Method == x.Method && before.Path == x.Path {
			return before.RequestBody == x.RequestBody
		}
	}
	return false
}
