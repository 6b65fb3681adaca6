package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

// Action is a button: an operation of an API and the values of its form that the page has.
type Action struct {
	ID   string // operationId
	Args map[string]string
}

// Row describes an action. The form, the request and the command line with curl come from it.
type Row struct {
	Label string // of the button
	// Submit is the label of the button in the form. Default: Label.
	Submit string
	What   string // what the action does, in one sentence
	// Direct actions run without a form of their own, because they destroy nothing.
	Direct bool
	// Method and Path are those of an operation of the management API, such as POST and /api/v1/users/{user}. Default: those of the operation
	// of the control API with the id of the action.
	Method, Path string
	// Access is the permission with which pages show the button of an operation of the management API. Default: engine.AccessWrite. The API
	// decides about each request. Operations of the control API have their own permission.
	Access string
	// Fields are the fields of the form in addition to the variables of the path.
	Fields []Field
	// Form returns what the form contains in addition to Fields and depends on stored data. Default: nothing.
	Form func(ctx context.Context, c *api.Client, args url.Values) (Form, error)
	// Count returns the number of things that the action changes, and facts about them. From massFrom things on, the operator types the
	// number. With 0 things, the action is disabled.
	Count func(ctx context.Context, c *api.Client, args url.Values) (int, []Fact, error)
	// Counted is the field with that number in the request, if any.
	Counted string
	// Body changes the request body, which has the values of the fields. Default: no change.
	Body func(args url.Values, body map[string]any) error
	// Done returns the text for a success.
	Done func(args url.Values, response json.RawMessage) string
	// Result decodes a response that a page shows. For a page without a heading, the text of Done is shown instead.
	Result func(response json.RawMessage) (ResultPage, error)
	// To returns the path of the next page below the base, such as that of a created object. Default: the page of the button.
	To func(args url.Values, response json.RawMessage) string
}

// Form is the part of a form that depends on stored data.
type Form struct {
	Subject string // name of what the action changes
	Fields  []Field
	// Values are the current values of fields. The request then contains only the fields that the operator has changed.
	Values url.Values
	// Whole is true if the request replaces the object: it contains all fields, changed or not.
	Whole bool
	Facts []Fact // what the action changes
	// Mass is the number of users, groups or apps that the action changes. From massFrom on, the operator types the number.
	Mass int
	// Word is a word that the operator types to confirm, regardless of Mass. Default: none.
	Word string
}

// Field is a field of a form.
type Field struct {
	// Name is the member of the body, with a period before the name of each nested member, such as profile.login.
	Name, Label, Help string
	// Kind is text, number, check, choice, several, lines, list, bool, json, password or hidden. Default: text. lines are words, list has a
	// value in each line. The value of hidden comes from the button.
	Kind     string
	Options  []string // of choice and several
	Choices  []Choice // of choice, in addition to Options
	Query    bool     // a parameter of the query instead of a member of the body
	Default  string
	Required bool
	More     bool // behind "Further fields"
	Clear    bool // an empty value is sent as null
}

// Fact is a line about what an action changes.
type Fact struct{ Name, Value string }

// Choice is a value that a form offers.
type Choice struct{ Value, Label string }

// massFrom is the number of changed principals from which an operator has to type the number.
const massFrom = 5

// Button is an action as a template shows it.
type Button struct {
	Action

	Label, What string
	Direct      bool
	Access      string
	// Query is the query of the form's page.
	Query template.URL
}

// operation is what an action calls.
type operation struct {
	method, path, access string // the path with the prefix of the API
	managed              bool   // an operation of the management API
}

// actionOf returns the row of an action and its operation.
func (c *console) actionOf(id string) (Row, operation, bool) {
	r, ok := c.actions[id]
	if !ok {
		return Row{}, operation{}, false
	}
	if r.Path != "" {
		access := r.Access
		if access == "" {
			access = engine.AccessWrite
		}
		return r, operation{r.Method, r.Path, access, true}, true
	}
	op, ok := c.operations[id]
	return r, operation{op.Method, op.Path, op.Access, false}, ok
}

// clientOf returns a client of the API that serves an operation.
func (c *console) clientOf(v *Visit, op operation) *api.Client {
	if op.managed {
		return c.management(v, nil)
	}
	return c.client(v)
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
	r, op, ok := c.actionOf(a.ID)
	if !ok {
		return Button{}, fmt.Errorf("unknown action %q", a.ID)
	}
	query := url.Values{}
	for name, value := range a.Args {
		query.Set(name, value)
	}
	return Button{Action: a, Label: r.Label, What: r.What, Direct: r.Direct, Access: op.access, Query: template.URL(query.Encode())}, nil
}

// ActPage is the form of an action.
type ActPage struct {
	ID      string
	Row     Row
	Form    Form
	Fields  []Field           // of the row and the form
	More    []Field           // further fields
	Args    map[string]string // variables of the path, and other values that are not fields
	Shown   map[string]string // the arguments that the page lists
	Values  url.Values
	Was     url.Values // values of the fields when the form was opened
	Count   int
	Counted bool
	Typed   string // what the operator has to type
	Facts   []Fact
	Problem string
	Next    string            // what to do about the problem
	Errors  map[string]string // by field
	Curl    string
	Back    string
	Allowed bool
	Access  string
	Label   string // of the app
}

// wasPrefix precedes the names of hidden fields with the values of an opened form.
const wasPrefix = "was:"

// reserved reports whether a field belongs to all forms.
func reserved(name string) bool {
	return name == "csrf" || name == "back" || name == "typed" || strings.HasPrefix(name, wasPrefix)
}

// trouble is why a form is shown again.
type trouble struct {
	problem, next string
	errors        map[string]string
}

func (c *console) actForm(w http.ResponseWriter, r *http.Request, v *Visit) {
	c.showForm(w, r, v, http.StatusOK, r.URL.Query(), trouble{})
}

func (c *console) showForm(w http.ResponseWriter, r *http.Request, v *Visit, status int, values url.Values, t trouble) {
	id := r.PathValue("action")
	row, op, ok := c.actionOf(id)
	if !ok {
		c.fail(w, r, v, http.StatusNotFound, "No page exists at this address.", "Go to the overview, and start the action from there.")
		return
	}
	p := ActPage{
		ID: id, Row: row, Args: map[string]string{}, Shown: map[string]string{}, Values: values, Was: url.Values{}, Problem: t.problem,
		Next: t.next, Errors: t.errors, Back: c.local(values.Get("back")), Allowed: v.caller.May(op.access), Access: op.access,
	}
	form, err := c.formOf(r.Context(), v, row, op, values)
	if err != nil {
		c.problem(w, r, v, err)
		return
	}
	p.Form, p.Facts = form, form.Facts
	fields := slices.Concat(row.Fields, form.Fields)
	again := r.Method == http.MethodPost
	for _, f := range fields {
		if f.More {
			p.More = append(p.More, f)
		} else {
			p.Fields = append(p.Fields, f)
		}
		if form.Values != nil && !form.Whole {
			p.Was[wasPrefix+f.Name] = form.Values[f.Name]
			if again {
				p.Was[wasPrefix+f.Name] = values[wasPrefix+f.Name]
			}
		}
		if _, given := values[f.Name]; !given && !again {
			if current, ok := form.Values[f.Name]; ok {
				values[f.Name] = current
			} else if f.Default != "" {
				values.Set(f.Name, f.Default)
			}
		}
	}
	if row.Count != nil {
		n, facts, err := row.Count(r.Context(), c.clientOf(v, op), values)
		if err != nil {
			c.problem(w, r, v, err)
			return
		}
		p.Count, p.Counted, p.Facts = n, true, append(p.Facts, facts...)
		if row.Counted != "" {
			values.Set(row.Counted, strconv.Itoa(n))
		}
	}
	p.Typed = typed(form, p.Count)
	if app := values.Get("app"); app != "" && !op.managed {
		p.Label = c.labelOf(r.Context(), v, app)
	}
	for name := range values {
		if reserved(name) || slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			continue
		}
		p.Args[name] = values.Get(name)
		if !op.managed && name != "app" && name != row.Counted {
			p.Shown[name] = values.Get(name)
		}
	}
	shown := maps.Clone(values)
	maps.Copy(shown, p.Was)
	call, err := c.callOf(op, row, fields, shown, true)
	switch {
	case err == nil:
		p.Curl = c.curl(v, call)
	case !op.managed && t.problem == "":
		c.fail(w, r, v, http.StatusBadRequest, err.Error(), "Go back and start the action from the page of the app.")
		return
	}
	c.write(w, r, v, status, "act", row.Label, p)
}

// formOf returns the part of a form that depends on stored data.
func (c *console) formOf(ctx context.Context, v *Visit, row Row, op operation, values url.Values) (Form, error) {
	if row.Form == nil {
		return Form{}, nil
	}
	return row.Form(ctx, c.clientOf(v, op), values)
}

// typed returns what an operator has to type to confirm an action, empty if nothing.
func typed(f Form, count int) string {
	switch n := max(f.Mass, count); {
	case f.Word != "":
		return f.Word
	case n >= massFrom:
		return strconv.Itoa(n)
	}
	return ""
}

// labelOf returns the label of an app, and its id if the label is unknown.
func (c *console) labelOf(ctx context.Context, v *Visit, app string) string {
	found, err := c.labels.of(ctx, v.caller.Tenant)
	if err != nil {
		return app
	}
	return nameOr(found.byID[v.caller.Tenant+app], app)
}

// call is a request to an API.
type call struct {
	method, path string // the path with the prefix and the query
	body         any
}

// errUnchanged is the error for a form of current values that the operator has not changed.
var errUnchanged = errors.New("Nothing was changed. Change at least one field, or cancel.")

// secretText replaces secrets in command lines.
const secretText = "SECRET"

// callOf returns the request of an action with the values of its form. If shown is true, the request is for display: without secrets.
func (c *console) callOf(op operation, r Row, fields []Field, values url.Values, shown bool) (call, error) {
	out := call{method: op.method}
	for i, segment := range strings.Split(op.path, "/") {
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
	body, query, opened := map[string]any{}, url.Values{}, false
	if r.Counted != "" {
		body[r.Counted] = atoi(values.Get(r.Counted))
	}
	for _, f := range fields {
		was, known := values[wasPrefix+f.Name]
		opened = opened || known
		if known && slices.Equal(plainLines(was), plainLines(values[f.Name])) {
			continue
		}
		value, given, err := f.value(values)
		switch {
		case err != nil:
			return out, err
		case !given && known && f.Clear:
			set(body, f.Name, nil)
		case !given:
		case f.Query:
			query.Set(f.Name, fmt.Sprint(value))
		case shown && f.Kind == "password":
			set(body, f.Name, secretText)
		default:
			set(body, f.Name, value)
		}
	}
	if r.Body != nil {
		if err := r.Body(values, body); err != nil {
			return out, err
		}
	}
	if opened && len(body) == 0 {
		return out, errUnchanged
	}
	if len(body) > 0 {
		out.body = body
	}
	if len(query) > 0 {
		out.path += "?" + query.Encode()
	}
	return out, nil
}

// plainLines returns the values of a field without the changes of a browser, which sends an empty value for an empty field, and CR LF for
// the end of a line.
func plainLines(values []string) []string {
	if len(values) == 1 && values[0] == "" {
		return nil
	}
	out := make([]string, len(values))
	for i, text := range values {
		out[i] = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return out
}

// set sets a nested member.
func set(body map[string]any, name string, value any) {
	for {
		first, rest, nested := strings.Cut(name, ".")
		if !nested {
			body[name] = value
			return
		}
		inner, ok := body[first].(map[string]any)
		if !ok {
			inner = map[string]any{}
			body[first] = inner
		}
		body, name = inner, rest
	}
}

// value returns the value of a field for the request, and reports whether the request has the field.
func (f Field) value(values url.Values) (value any, given bool, err error) {
	text := strings.TrimSpace(values.Get(f.Name))
	switch f.Kind {
	case "check":
		return text != "", text != "" || f.Query, nil
	case "bool":
		return text == "true", text != "", nil
	case "several":
		all := slices.DeleteFunc(slices.Clone(values[f.Name]), func(s string) bool { return s == "" })
		return all, len(all) > 0, nil
	case "lines":
		all := strings.Fields(values.Get(f.Name))
		return all, len(all) > 0, nil
	case "list":
		var all []string
		for line := range strings.Lines(values.Get(f.Name)) {
			if line = strings.TrimSpace(line); line != "" {
				all = append(all, line)
			}
		}
		return all, len(all) > 0, nil
	case "choice":
		if text == "" && len(f.Options) > 0 {
			return f.Options[0], true, nil
		}
	case "password":
		return values.Get(f.Name), values.Get(f.Name) != "", nil
	}
	switch {
	case text == "" && f.Required:
		return nil, false, fmt.Errorf("%s is required.", f.Label)
	case text == "":
		return nil, false, nil
	case f.Kind == "number":
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, false, fmt.Errorf("%s must be a number.", f.Label)
		}
		return n, true, nil
	case f.Kind == "json":
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return nil, false, fmt.Errorf("%s must be JSON: %w.", f.Label, err)
		}
		return value, true, nil
	}
	return text, true, nil
}

func (c *console) act(w http.ResponseWriter, r *http.Request, v *Visit) {
	row, op, ok := c.actionOf(r.PathValue("action"))
	if !ok {
		c.fail(w, r, v, http.StatusNotFound, "This action does not exist.", "Go to the overview, and start the action from there.")
		return
	}
	if !op.managed && !v.caller.May(op.access) {
		c.fail(w, r, v, http.StatusForbidden, "You may not do this: it requires the permission "+op.access+".",
			"Log in with a token that has it.")
		return
	}
	values, back := r.PostForm, c.local(r.PostFormValue("back"))
	form, err := c.formOf(r.Context(), v, row, op, values)
	if err != nil {
		c.problem(w, r, v, err)
		return
	}
	fields := slices.Concat(row.Fields, form.Fields)
	request, err := c.callOf(op, row, fields, values, false)
	if err != nil {
		c.showForm(w, r, v, http.StatusBadRequest, values, trouble{problem: err.Error()})
		return
	}
	count := 0
	if row.Count != nil {
		if count, _, err = row.Count(r.Context(), c.clientOf(v, op), values); err != nil {
			c.problem(w, r, v, err)
			return
		}
	}
	if want := typed(form, count); want != "" && strings.TrimSpace(values.Get("typed")) != want {
		text := fmt.Sprintf("Type %s to confirm.", want)
		if form.Word == "" {
			text = fmt.Sprintf("Type %s to confirm this number.", want)
		}
		c.showForm(w, r, v, http.StatusBadRequest, values, trouble{problem: text})
		return
	}
	var response json.RawMessage
	err = c.send(r.Context(), v, op, request, &response)
	c.lags.forget()
	if err != nil {
		c.actFailed(w, r, v, row, fields, values, err)
		return
	}
	curl := ""
	if shown, err := c.callOf(op, row, fields, values, true); err == nil {
		curl = c.curl(v, shown)
	}
	if row.Result != nil {
		p, err := row.Result(response)
		if err != nil {
			c.broken(w, r, v, err)
			return
		}
		p.Back, p.Curl, p.Args = back, curl, values
		if !op.managed {
			p.App = values.Get("app")
			p.Label = c.labelOf(r.Context(), v, p.App)
		}
		if p.Heading != "" {
			c.write(w, r, v, http.StatusOK, "result", p.Heading, p)
			return
		}
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

// send sends the request of an action to its API in this process.
func (c *console) send(ctx context.Context, v *Visit, op operation, request call, into any) error {
	path := request.path
	if !op.managed {
		path = strings.TrimPrefix(path, c.o.Prefix)
	}
	return c.clientOf(v, op).Do(ctx, request.method, path, request.body, into)
}

// actFailed shows an error of the API on the form of the action, or on the page from which a direct action was started.
func (c *console) actFailed(w http.ResponseWriter, r *http.Request, v *Visit, row Row, fields []Field, values url.Values, err error) {
	e, ok := asAPI(err)
	if !ok || internalError(e) {
		c.broken(w, r, v, err)
		return
	}
	if row.Direct {
		text := strings.Join(append([]string{e.Summary}, e.Causes...), " ")
		if next := nextStep(e); row.Path != "" && next != "" {
			text += " " + next
		}
		c.done(w, r, v, c.local(values.Get("back")), flash{Text: row.Label + " failed: " + text, Bad: true})
		return
	}
	t := trouble{errors: map[string]string{}}
	rest := []string{e.Summary}
	for _, cause := range e.Causes {
		member, text, _ := strings.Cut(cause, ": ")
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == member || strings.HasSuffix(f.Name, "."+member) })
		if i < 0 || row.Path == "" {
			rest = append(rest, cause)
			continue
		}
		t.errors[fields[i].Name] = text
	}
	t.problem = strings.Join(rest, " ")
	if row.Path != "" {
		t.next = nextStep(e)
	}
	if t.next != "" {
		t.problem = strings.TrimSuffix(t.problem, ".") + "."
	}
	c.showForm(w, r, v, e.Status, values, t)
}

// internalError reports whether an error is not for the operator. The API returns 502 and 504 for a target, and 501 for an operation that
// an object does not support.
func internalError(e *api.Error) bool {
	switch e.Status {
	case http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusNotImplemented:
		return false
	}
	return e.Status >= http.StatusInternalServerError
}

// Error codes of the management API.
const (
	codeForbidden = "E0000006" // the caller has no permission
	codeMapped    = "E0000075" // a mapping provides the value of the attribute
	codeReadOnly  = "E0000077"
	codeImmutable = "E0000078"
)

// nextStep returns what an operator can do about an error of the management API, empty if its text says that.
func nextStep(e *api.Error) string {
	switch {
	case e.Code == codeForbidden:
		return "Log in with the token of an administrator who has the permission."
	case e.Code == codeMapped:
		return "Change the attribute of the user, or the mapping of the app, and restore the value of this field."
	case e.Code == codeReadOnly, e.Code == codeImmutable:
		return "Restore the value of the field, and send the form again."
	case e.Status == http.StatusForbidden:
		return "Load the page again: its buttons are the actions that the present state allows."
	case e.Status == http.StatusBadRequest:
		return "Correct the input, and send the form again."
	case e.Status == http.StatusNotFound:
		return "The object may have been deleted since the page was loaded. Go back to the list."
	case e.Status == http.StatusConflict, e.Status == http.StatusPreconditionFailed:
		return "Load the page again to see the present state, and repeat the change there."
	case e.Status == http.StatusTooManyRequests:
		return "Wait a minute, and send the form again."
	}
	return ""
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
	// Note is a sentence about Values, which are values that only this response has.
	Note   string
	Values []Fact
}

// curl returns the command line for a request, as an operator would send it with an own token.
func (c *console) curl(v *Visit, request call) string {
	parts := []string{"curl -sS", "-X " + request.method, `-H "Authorization: ` + c.o.Scheme + ` $TOKEN"`}
	if request.body != nil {
		data, err := json.Marshal(request.body)
		if err != nil {
			return ""
		}
		parts = append(parts, "-H 'Content-Type: application/json'", "-d "+quoted(string(data)))
	}
	return strings.Join(append(parts, quoted(c.address(v.client)+request.path)), " ")
}

// quoted quotes a string for a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
