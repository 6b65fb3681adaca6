package console

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

// Action is a button: an operation of the control API and the values of its form that the page knows.
type Action struct {
	ID   string // operationId
	Args map[string]string
}

// row describes an action.
type row struct {
	Label string // of the button
	// Submit is the label of the button in the form. Default: Label.
	Submit string
	What   string // what the action does, in one sentence
	// Direct actions run without a form of their own, because they destroy nothing.
	Direct bool
	// Fields are the fields of the form in addition to the variables of the path.
	Fields []field
	// Count returns the number of things that the action changes, and facts about them. From massFrom things on, the operator types the
	// number.
	Count func(ctx context.Context, c *api.Client, args url.Values) (int, []Fact, error)
	// Counted is the field with that number in the request, if any.
	Counted string
	// Done returns the text for a success.
	Done func(args url.Values, response json.RawMessage) string
	// Result decodes a response that a page shows.
	Result func(response json.RawMessage) (ResultPage, error)
	// To returns the path of the page below the base that shows what was created.
	To func(args url.Values, response json.RawMessage) string
}

// field is a field of a form.
type field struct {
	Name, Label, Help string
	Kind              string   // text, number, check, choice, several, lines
	Options           []string // of choice and several
	Query             bool     // a parameter of the query instead of a member of the body
	Default           string
}

// Fact is a line about what an action changes.
type Fact struct{ Name, Value string }

// massFrom is the number of changed principals from which an operator has to type the number.
const massFrom = 5

var haltFields = []field{
	{Name: "operations", Label: "Operations", Kind: "several", Options: haltNames(), Help: "None selected means all."},
	{Name: "reason", Label: "Reason", Kind: "text", Help: "Other operators see it next to the halt."},
}

func haltNames() (names []string) {
	for _, op := range engine.HaltOperations() {
		names = append(names, string(op))
	}
	return names
}

// actions is the table of actions, by operation.
var actions = map[string]row{
	"retryProvisioningTask": {
		Label: "Retry", What: "Sends the change again now.", Direct: true,
		Done: func(url.Values, json.RawMessage) string { return "The change is retried." },
	},
	"dismissProvisioningTask": {
		Label: "Dismiss",
		What:  "Marks the failed change as resolved without changing the target. The next change of the user or group is sent as usual.",
		Done:  func(url.Values, json.RawMessage) string { return "The change is marked as resolved." },
	},
	"retryAllProvisioningTasks": {
		Label: "Retry all", What: "Sends all failed changes of the app again now.", Direct: true,
		Done: func(_ url.Values, response json.RawMessage) string {
			var n struct{ Retried int }
			_ = json.Unmarshal(response, &n)
			return plural(n.Retried, "change") + " retried."
		},
	},
	"approveRemovals": {
		Label: "Review removals", Submit: "Approve",
		What:  "Sends the deactivations and deletions that the deletion guard has blocked. Users lose their accounts.",
		Count: blockedRemovals, Counted: "expected",
		Done: func(args url.Values, _ json.RawMessage) string {
			return "Removals approved: " + args.Get("expected") + "."
		},
	},
	"haltApp": {
		Label: "Halt", What: "The engine sends no requests of the selected operations for this app until you resume them.", Fields: haltFields,
		Done: func(url.Values, json.RawMessage) string { return "Halted." },
	},
	"resumeApp": {
		Label: "Resume", What: "Enables halted operations of this app again.", Direct: true, Fields: haltFields[:1],
		Done: func(url.Values, json.RawMessage) string { return "Resumed." },
	},
	"haltAllApps": {
		Label: "Halt all apps", What: "The engine sends no requests of the selected operations for any app until you resume them.",
		Fields: haltFields, Done: func(url.Values, json.RawMessage) string { return "Halted for all apps." },
	},
	"resumeAllApps": {
		Label: "Resume all apps", What: "Enables operations again that were halted for all apps.", Direct: true, Fields: haltFields[:1],
		Done: func(url.Values, json.RawMessage) string { return "Resumed for all apps." },
	},
	"releaseApp": {
		Label: "Release", What: "Ends the pause of the app, so that the engine sends its pending changes now.", Direct: true,
		Done: func(url.Values, json.RawMessage) string { return "Released: the engine sends the pending changes now." },
	},
	"testApp": {
		Label: "Test connection", What: "Reads the first users of the target with the stored credentials.", Direct: true,
		Done: func(url.Values, json.RawMessage) string {
			return "The connection works: the target returned its first users."
		},
	},
	"probeApp": {
		Label: "Probe", What: "Determines the features of the target with a temporary user and group, which are removed again.",
		Fields: []field{{Name: "domain", Label: "Domain", Kind: "text", Help: "Of the temporary user. Default: example.com."}},
		Result: func(response json.RawMessage) (ResultPage, error) {
			var p engine.Profile
			err := json.Unmarshal(response, &p)
			return ResultPage{Heading: "Probe", Profile: &p}, err
		},
	},
	"unlearn": {
		Label: "Forget what was learned", What: "Removes the detected deviations and the result of the probe. The engine detects them again.",
		Done: func(url.Values, json.RawMessage) string {
			return "Removed. The engine detects the deviations of the target again."
		},
	},
	"createPlan": {
		Label: "New plan", What: "Computes the requests for users and groups without sending them. The plan can be reviewed and then applied.",
		Fields: []field{
			{Name: "all", Label: "All users and groups of the app", Kind: "check", Default: "true"},
			{Name: "userIds", Label: "Users", Kind: "lines", Help: "Ids, one per line."},
			{Name: "groupIds", Label: "Groups", Kind: "lines", Help: "Ids, one per line."},
			{Name: "reason", Label: "Reason", Kind: "text"},
		},
		To: func(args url.Values, response json.RawMessage) string {
			var p engine.Plan
			_ = json.Unmarshal(response, &p)
			return appPath(args, "plans", p.ID)
		},
	},
	"applyPlan": {
		Label: "Apply",
		What:  "Sends the requests of the plan. Nothing is sent if the desired state has changed since the plan was created.",
		Count: itemsOfPlan,
		Fields: []field{
			{Name: "first", Label: "Number of items to apply now", Kind: "number", Help: "The others can be applied afterwards. Default: all."},
		},
		Done: func(url.Values, json.RawMessage) string { return "The plan is being applied." },
	},
	"discardPlan": {
		Label: "Discard", What: "Deletes the plan. Items that were applied remain applied.",
		Done: func(url.Values, json.RawMessage) string { return "The plan is deleted." },
		To:   func(args url.Values, _ json.RawMessage) string { return appPath(args, "plans") },
	},
	"startImport": {
		Label:  "New import",
		What:   "Reads the accounts or groups of the target and matches them with users and groups. It changes nothing on the target.",
		Fields: []field{{Name: "type", Label: "Read", Kind: "choice", Options: []string{"USERS", "GROUPS"}}},
		To: func(args url.Values, response json.RawMessage) string {
			var started struct{ JobID string }
			_ = json.Unmarshal(response, &started)
			return appPath(args, "imports", started.JobID)
		},
	},
	"confirmImport": {
		Label: "Link the matched accounts", Count: matchedAccounts,
		What: "Links each account with the verdict matched to its user. The engine manages these accounts from then on.",
		Done: func(_ url.Values, response json.RawMessage) string {
			var n api.Confirmed
			_ = json.Unmarshal(response, &n)
			return plural(n.Linked, "account") + " linked, " + plural(n.Created, "user") + " created."
		},
	},
	"driftReport": {
		Label: "Compare with the target", What: "Reads the list of the target and compares it with the desired state.",
		Fields: []field{
			{Name: "kind", Label: "Compare", Kind: "choice", Options: []string{"user", "group"}},
			{Name: "repair", Label: "Provision again what differs", Kind: "check"},
		},
		Result: func(response json.RawMessage) (ResultPage, error) {
			var d api.Drift
			err := json.Unmarshal(response, &d)
			return ResultPage{Heading: "Comparison with the target", Drift: &d}, err
		},
	},
	"reconcileApp": {
		Label: "Reconcile",
		What:  "Compares all users and groups with the target, and provisions again those that differ or have no state in the engine.",
		Result: func(response json.RawMessage) (ResultPage, error) {
			found := map[string]*api.Reconciled{}
			err := json.Unmarshal(response, &found)
			return ResultPage{Heading: "Reconciliation", Reconciled: found}, err
		},
	},
	"provisionPrincipal": {
		Label: "Provision now", What: "Sends the pending requests of this user or group now, and shows them.",
		Fields: []field{
			{Name: "forceSync", Label: "Also send attributes that the target has ignored before", Kind: "check"},
			{Name: "allMembers", Label: "Push all members of the group, not only the changes", Kind: "check"},
		},
		Result: traceResult,
	},
	"rehearsePrincipal": {
		Label: "Dry run", What: "Shows the requests that would be sent now. It reads the target and changes nothing.", Direct: true,
		Result: traceResult,
	},
	"verifyPrincipal": {
		Label: "Read back", What: "Reads the account on the target and compares it with the desired state.", Direct: true,
		Result: func(response json.RawMessage) (ResultPage, error) {
			var v api.Verification
			err := json.Unmarshal(response, &v)
			return ResultPage{Heading: "Read back", Verification: &v}, err
		},
	},
}

func traceResult(response json.RawMessage) (ResultPage, error) {
	var t api.Trace
	err := json.Unmarshal(response, &t)
	heading := "Requests that were sent"
	if t.Rehearsed {
		heading = "Dry run"
	}
	return ResultPage{Heading: heading, Trace: &t}, err
}

// appPath returns a path below the base.
func appPath(args url.Values, segments ...string) string {
	path := "/apps/" + url.PathEscape(args.Get("app"))
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	return path
}

// maxNamed is the maximum number of names that a form lists.
const maxNamed = 20

// removals are the operations that the deletion guard blocks.
var removals = []engine.Operation{engine.RemoveUser, engine.RemoveGroup}

func blockedRemovals(ctx context.Context, c *api.Client, args url.Values) (int, []Fact, error) {
	tasks, err := c.Tasks(ctx, args.Get("app"))
	n := 0
	var facts []Fact
	for _, t := range tasks {
		if t.Status != engine.StatusHeld || !slices.Contains(removals, t.Operation) {
			continue
		}
		if n++; n <= maxNamed {
			facts = append(facts, Fact{string(t.Operation), nameOr(t.Name, t.ID)})
		}
	}
	if n > maxNamed {
		facts = append(facts, Fact{"and", plural(n-maxNamed, "further removal")})
	}
	return n, facts, err
}

func nameOr(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

func itemsOfPlan(ctx context.Context, c *api.Client, args url.Values) (int, []Fact, error) {
	p, err := c.Plan(ctx, args.Get("app"), args.Get("plan"))
	var facts []Fact
	for _, op := range sortedKeys(p.Operations) {
		facts = append(facts, Fact{string(op), num(p.Operations[op])})
	}
	return p.Items, facts, err
}

func matchedAccounts(ctx context.Context, c *api.Client, args url.Values) (int, []Fact, error) {
	i, err := c.Import(ctx, args.Get("app"), args.Get("job"))
	n := i.Verdicts[engine.VerdictMatched]
	return n, []Fact{{"matched accounts", num(n)}}, err
}

// Button is an action as a template shows it.
type Button struct {
	Action

	Label, What string
	Direct      bool
	Access      string
	// Query is the query of the form's page.
	Query template.URL
}

// describe returns the button of an action. Templates call it with the operation and alternating names and values.
func (c *console) describe(id string, pairs ...any) (Button, error) {
	args := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
	}
	return c.button(Action{id, args})
}

func (c *console) button(a Action) (Button, error) {
	r, ok := actions[a.ID]
	op, served := c.operations[a.ID]
	if !ok || !served {
		return Button{}, fmt.Errorf("unknown action %q", a.ID)
	}
	query := url.Values{}
	for name, value := range a.Args {
		query.Set(name, value)
	}
	return Button{Action: a, Label: r.Label, What: r.What, Direct: r.Direct, Access: op.Access, Query: template.URL(query.Encode())}, nil
}

// ActPage is the form of an action.
type ActPage struct {
	ID      string
	Row     row
	Args    map[string]string // variables of the path, and other values that are not fields
	Values  url.Values
	Count   int
	Counted bool
	Typed   bool // the operator has to type Count
	Facts   []Fact
	Problem string
	Curl    string
	Back    string
	Allowed bool
	Access  string
	Label   string // of the app
}

// reserved are the fields of all forms.
var reserved = []string{"csrf", "back", "typed"}

func (c *console) actForm(w http.ResponseWriter, r *http.Request, v *visit) {
	c.showForm(w, r, v, http.StatusOK, r.URL.Query(), "")
}

func (c *console) showForm(w http.ResponseWriter, r *http.Request, v *visit, status int, values url.Values, problem string) {
	id := r.PathValue("action")
	row, ok := actions[id]
	op, served := c.operations[id]
	if !ok || !served {
		c.fail(w, r, v, http.StatusNotFound, "No page exists at this address.", "Go to the overview, and start the action from there.")
		return
	}
	p := ActPage{
		ID: id, Row: row, Args: map[string]string{}, Values: values, Problem: problem, Back: c.local(values.Get("back")),
		Allowed: v.caller.May(op.Access), Access: op.Access,
	}
	for _, f := range row.Fields {
		if _, given := values[f.Name]; !given && f.Default != "" && problem == "" {
			values.Set(f.Name, f.Default)
		}
	}
	if row.Count != nil {
		n, facts, err := row.Count(r.Context(), c.client(v), values)
		if err != nil {
			c.problem(w, r, v, err)
			return
		}
		p.Count, p.Facts, p.Counted, p.Typed = n, facts, true, n >= massFrom
		if row.Counted != "" {
			values.Set(row.Counted, strconv.Itoa(n))
		}
	}
	if app := values.Get("app"); app != "" {
		p.Label = c.labelOf(r.Context(), v, app)
	}
	for name := range values {
		if !slices.Contains(reserved, name) && !slices.ContainsFunc(row.Fields, func(f field) bool { return f.Name == name }) {
			p.Args[name] = values.Get(name)
		}
	}
	call, err := c.callOf(id, row, values)
	if err != nil {
		c.fail(w, r, v, http.StatusBadRequest, err.Error(), "Go back and start the action from the page of the app.")
		return
	}
	p.Curl = c.curl(v, call)
	c.write(w, r, v, status, "act", row.Label, p)
}

// labelOf returns the label of an app, and its id if the label is unknown.
func (c *console) labelOf(ctx context.Context, v *visit, app string) string {
	found, err := c.labels.of(ctx, v.caller.Tenant)
	if err != nil {
		return app
	}
	return nameOr(found.byID[v.caller.Tenant+app], app)
}

// call is a request to the control API.
type call struct {
	method, path string // the path with the query, below the prefix
	body         any
}

// callOf returns the request of an action with the values of its form.
func (c *console) callOf(id string, r row, values url.Values) (call, error) {
	op := c.operations[id]
	out := call{method: op.Method}
	for i, segment := range strings.Split(strings.TrimPrefix(op.Path, c.o.Prefix), "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			value := values.Get(name)
			if value == "" || value == "." || value == ".." {
				return out, fmt.Errorf("The action %s requires the field %s.", r.Label, name)
			}
			segment = url.PathEscape(value)
		}
		if i > 0 {
			out.path += "/" + segment
		}
	}
	body := map[string]any{}
	if r.Counted != "" {
		body[r.Counted] = atoi(values.Get(r.Counted))
	}
	for _, f := range r.Fields {
		switch text := strings.TrimSpace(values.Get(f.Name)); {
		case f.Kind == "check":
			if text != "" {
				body[f.Name] = true
			}
		case f.Kind == "several":
			if all := slices.DeleteFunc(slices.Clone(values[f.Name]), func(s string) bool { return s == "" }); len(all) > 0 {
				body[f.Name] = all
			}
		case f.Kind == "lines":
			if all := strings.Fields(values.Get(f.Name)); len(all) > 0 {
				body[f.Name] = all
			}
		case f.Kind == "choice" && text == "":
			body[f.Name] = f.Options[0]
		case text == "":
		case f.Kind == "number":
			n, err := strconv.Atoi(text)
			if err != nil {
				return out, fmt.Errorf("%s must be a number.", f.Label)
			}
			body[f.Name] = n
		default:
			body[f.Name] = text
		}
	}
	if len(body) > 0 {
		out.body = body
	}
	return out, nil
}

func (c *console) act(w http.ResponseWriter, r *http.Request, v *visit) {
	id := r.PathValue("action")
	row, ok := actions[id]
	op, served := c.operations[id]
	if !ok || !served {
		c.fail(w, r, v, http.StatusNotFound, "This action does not exist.", "Go to the overview, and start the action from there.")
		return
	}
	if !v.caller.May(op.Access) {
		c.fail(w, r, v, http.StatusForbidden, "You may not do this: it requires the permission "+op.Access+".",
			"Log in with a token that has it.")
		return
	}
	values, back := r.PostForm, c.local(r.PostFormValue("back"))
	request, err := c.callOf(id, row, values)
	if err != nil {
		c.showForm(w, r, v, http.StatusBadRequest, values, err.Error())
		return
	}
	if row.Count != nil {
		n, _, err := row.Count(r.Context(), c.client(v), values)
		switch {
		case err != nil:
			c.problem(w, r, v, err)
			return
		case n >= massFrom && strings.TrimSpace(values.Get("typed")) != strconv.Itoa(n):
			c.showForm(w, r, v, http.StatusBadRequest, values, fmt.Sprintf("Type %d to confirm this number.", n))
			return
		}
	}
	var response json.RawMessage
	err = c.client(v).Do(r.Context(), request.method, request.path, request.body, &response)
	c.lags.forget()
	if err != nil {
		c.actFailed(w, r, v, row, values, err)
		return
	}
	curl := c.curl(v, request)
	if row.Result != nil {
		p, err := row.Result(response)
		if err != nil {
			c.broken(w, r, v, err)
			return
		}
		p.App, p.Back, p.Curl, p.Args = values.Get("app"), back, curl, values
		p.Label = c.labelOf(r.Context(), v, p.App)
		c.write(w, r, v, http.StatusOK, "result", p.Heading, p)
		return
	}
	to := back
	if row.To != nil {
		to = c.o.Base + row.To(values, response)
	}
	f := flash{Text: row.Label + ": done.", Curl: curl}
	if row.Done != nil {
		f.Text = row.Done(values, response)
	}
	c.done(w, r, v, to, f)
}

// actFailed shows an error of the API on the form of the action, or on the page from which a direct action was started.
func (c *console) actFailed(w http.ResponseWriter, r *http.Request, v *visit, row row, values url.Values, err error) {
	e, ok := asAPI(err)
	if !ok || e.Status >= http.StatusInternalServerError && e.Status != http.StatusBadGateway && e.Status != http.StatusGatewayTimeout {
		c.broken(w, r, v, err)
		return
	}
	text := strings.Join(append([]string{e.Summary}, e.Causes...), " ")
	if row.Direct {
		c.done(w, r, v, c.local(values.Get("back")), flash{Text: row.Label + " failed: " + text, Bad: true})
		return
	}
	c.showForm(w, r, v, e.Status, values, text)
}

// ResultPage shows the response of an action.
type ResultPage struct {
	Heading      string
	App, Label   string
	Args         url.Values
	Back         string
	Curl         string
	Verification *api.Verification
	Trace        *api.Trace
	Drift        *api.Drift
	Reconciled   map[string]*api.Reconciled
	Profile      *engine.Profile
}

// curl returns the command line for a request, as an operator would send it with an own token.
func (c *console) curl(v *visit, request call) string {
	url := c.o.URL
	if url == "" {
		url = v.base()
	}
	parts := []string{"curl -sS", "-X " + request.method, `-H "Authorization: ` + c.o.Scheme + ` $TOKEN"`}
	if request.body != nil {
		data, err := json.Marshal(request.body)
		if err != nil {
			return ""
		}
		parts = append(parts, "-H 'Content-Type: application/json'", "-d "+quoted(string(data)))
	}
	return strings.Join(append(parts, quoted(url+c.o.Prefix+request.path)), " ")
}

// quoted quotes a string for a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
