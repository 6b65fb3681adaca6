package apps

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// references searches for the objects that the settings of an application refer to. err is the first store error: the checks of settings
// collect only errors of the client.
type references struct {
	slice *Slice
	user  map[string]expression.Kind // attributes of the users of all types
	err   error
}

func (s *Slice) references(ctx context.Context) (references, error) {
	user, err := s.UserKinds(ctx, s.Store.Reader())
	return references{slice: s, user: user}, err
}

// hook reports whether an inline hook of the SAML type has the id.
func (r *references) hook(ctx context.Context, id string) bool {
	there, err := r.slice.HasInlineHook(ctx, r.slice.Store.Reader(), id, model.HookSAML)
	if err != nil && r.err == nil {
		r.err = err
	}
	return there
}

// samlContext is the input of the check of a member of settings.signOn.
type samlContext struct {
	path   string
	all    map[string]any // all members that were sent with a value of the right type
	known  *references
	causes *rest.Causes
}

// samlMembers lists the members of settings.signOn with rules in addition to their types. A check returns the value to store.
var samlMembers = []struct {
	name  string
	check func(ctx context.Context, value any, c samlContext) any
}{
	{"signatureAlgorithm", among("RSA_SHA256", "RSA_SHA1")},
	{"digestAlgorithm", among("SHA256", "SHA1")},
	{"subjectNameIdFormat", among(nameIDFormats...)},
	{"subjectNameIdTemplate", checkTemplate},
	{"authnContextClassRef", checkContextClass},
	{"slo", checkLogout},
	{"participateSlo", checkParticipation},
	{"spCertificate", checkCertificate},
	{"acsEndpoints", checkEndpoints},
	{catalog.AttributeStatements, checkStatements},
	{"configuredAttributeStatements", checkStatements},
	{catalog.InlineHooks, checkHooks},
}

// nameIDFormats lists the formats of the user's name in an assertion (SAML core, section 8.3).
var nameIDFormats = []string{
	"urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
	"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
	"urn:oasis:names:tc:SAML:1.1:nameid-format:x509SubjectName",
	"urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
	"urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
}

func among(values ...string) func(context.Context, any, samlContext) any {
	return func(_ context.Context, value any, c samlContext) any {
		if text, _ := value.(string); !slices.Contains(values, text) {
			c.causes.Add(c.path, "The value must be one of %s", strings.Join(values, ", "))
		}
		return value
	}
}

var contextClass = regexp.MustCompile(`^urn:\S+$`)

// checkContextClass accepts any URN and URL: service providers define their own classes.
func checkContextClass(_ context.Context, value any, c samlContext) any {
	if text, _ := value.(string); !contextClass.MatchString(text) && !isURL(text) {
		c.causes.Add(c.path, "The value must be a URN")
	}
	return value
}

func checkTemplate(_ context.Context, value any, c samlContext) any {
	text, _ := value.(string)
	if _, err := expression.CompileTemplate(text, c.names(text)); err != nil {
		c.causes.Add(c.path, "%s", err)
	}
	return value
}

var appAttribute = regexp.MustCompile(`\bappuser\.([A-Za-z_][A-Za-z0-9_]*)`)

// names returns the names that the expressions of SAML settings may use. It accepts any attribute of app users: the schema of the
// application defines them, and it may change later. An attribute that is not defined is null.
func (c samlContext) names(text string) expression.Names {
	user := maps.Clone(c.known.user)
	user["userName"] = expression.String // userName is the user name in the application
	appUser := map[string]expression.Kind{"userName": expression.String}
	for _, found := range appAttribute.FindAllStringSubmatch(text, -1) {
		appUser[found[1]] = expression.Any
	}
	return expression.Names{
		"user": user, "source": user, "appuser": appUser,
		"app": {"id": expression.String, "name": expression.String, "label": expression.String, "clientId": expression.String},
		"org": {"name": expression.String, "subDomain": expression.String, "externalKey": expression.String},
	}
}

// logoutMembers lists the members of single logout.
var logoutMembers = []catalog.Setting{
	{Name: "enabled", Kind: catalog.Bool}, {Name: "spIssuer", Kind: catalog.Text}, {Name: "logoutUrl", Kind: catalog.URL},
}

func checkLogout(_ context.Context, value any, c samlContext) any {
	given, _ := value.(map[string]any)
	out := pick(logoutMembers, given, c.path+".", c.causes)
	if out["enabled"] == true {
		c.need(out, "spIssuer", "logoutUrl")
		if c.all["spCertificate"] == nil {
			c.causes.Blank(strings.TrimSuffix(c.path, "slo") + "spCertificate")
		}
	}
	return out
}

var participationMembers = []catalog.Setting{
	{Name: "enabled", Kind: catalog.Bool}, {Name: "logoutRequestUrl", Kind: catalog.URL},
	{Name: "sessionIndexRequired", Kind: catalog.Bool}, {Name: "bindingType", Kind: catalog.Text},
}

func checkParticipation(ctx context.Context, value any, c samlContext) any {
	given, _ := value.(map[string]any)
	out := pick(participationMembers, given, c.path+".", c.causes)
	if out["enabled"] == true {
		c.need(out, "logoutRequestUrl", "bindingType")
	}
	if binding, ok := out["bindingType"]; ok {
		at := c
		at.path += ".bindingType"
		among("POST", "REDIRECT")(ctx, binding, at)
	}
	return out
}

// need records an error for each missing member.
func (c samlContext) need(of map[string]any, members ...string) {
	for _, name := range members {
		if _, ok := of[name]; !ok && !c.causes.Has(c.path+"."+name) {
			c.causes.Blank(c.path + "." + name)
		}
	}
}

// maxElements is the maximum number of elements of an array in settings.signOn.
const maxElements = 100

// elements returns the elements of an array, each an object with only the listed members.
func (c samlContext) elements(value any, members ...catalog.Setting) []map[string]any {
	list, _ := value.([]any)
	if len(list) > maxElements {
		c.causes.Add(c.path, "The value has more than %d elements", maxElements)
		return nil
	}
	out := make([]map[string]any, 0, len(list))
	for i, element := range list {
		object, ok := element.(map[string]any)
		if !ok {
			c.causes.Add(fmt.Sprintf("%s[%d]", c.path, i), "The value must be an object")
			continue
		}
		out = append(out, pick(members, object, fmt.Sprintf("%s[%d].", c.path, i), c.causes))
	}
	return out
}

// stored converts a list to []any, the type of lists in documents that were read from the store.
func stored(list []map[string]any) []any {
	out := make([]any, len(list))
	for i, element := range list {
		out[i] = element
	}
	return out
}

func checkCertificate(_ context.Context, value any, c samlContext) any {
	given, _ := value.(map[string]any)
	chain, _ := given["x5c"].([]any)
	if len(chain) == 0 || len(chain) > maxElements {
		c.causes.Add(c.path+".x5c", "The value must be an array of certificates")
	}
	for i, element := range chain {
		text, _ := element.(string)
		der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err == nil {
			_, err = x509.ParseCertificate(der)
		}
		if err != nil {
			c.causes.Add(c.path+".x5c", "Element %d is not a certificate in base64", i)
		}
	}
	return map[string]any{"x5c": chain}
}

// maxIndex is the maximum index of an endpoint in metadata (SAML metadata, section 2.2.3).
const maxIndex = 65535

func checkEndpoints(_ context.Context, value any, c samlContext) any {
	list := c.elements(value, catalog.Setting{Name: "url", Kind: catalog.URL, Required: true},
		catalog.Setting{Name: "index", Kind: catalog.Any, Required: true})
	seen := map[int64]bool{}
	for i, endpoint := range list {
		number, _ := endpoint["index"].(json.Number)
		index, err := number.Int64()
		switch {
		case endpoint["index"] == nil: // reported by elements
		case err != nil || index < 0 || index > maxIndex:
			c.causes.Add(fmt.Sprintf("%s[%d].index", c.path, i), "The value must be between 0 and %d", maxIndex)
		case seen[index]:
			c.causes.Add(fmt.Sprintf("%s[%d].index", c.path, i), "The index %d is used twice", index)
		}
		seen[index] = true
	}
	if len(list) > 0 && c.all["allowMultipleAcsEndpoints"] != true {
		c.causes.Add(c.path, "Endpoints in addition to ssoAcsUrl require allowMultipleAcsEndpoints")
	}
	return stored(list)
}

// The accepted values in attribute statements.
var (
	statementTypes   = []string{"EXPRESSION", "GROUP"}
	filterTypes      = []string{"STARTS_WITH", "EQUALS", "CONTAINS", "REGEX"}
	statementFormats = []string{
		"urn:oasis:names:tc:SAML:2.0:attrname-format:unspecified",
		"urn:oasis:names:tc:SAML:2.0:attrname-format:uri",
		"urn:oasis:names:tc:SAML:2.0:attrname-format:basic",
	}
)

// checkStatements checks attribute statements: objects with unique names that have either values or a filter on groups.
func checkStatements(ctx context.Context, value any, c samlContext) any {
	list := c.elements(value,
		catalog.Setting{Name: "name", Kind: catalog.Text, Required: true}, catalog.Setting{Name: "type", Kind: catalog.Text},
		catalog.Setting{Name: "namespace", Kind: catalog.Text}, catalog.Setting{Name: "values", Kind: catalog.List},
		catalog.Setting{Name: "filterType", Kind: catalog.Text}, catalog.Setting{Name: "filterValue", Kind: catalog.Text},
	)
	names := map[any]bool{}
	for i, statement := range list {
		at := samlContext{path: fmt.Sprintf("%s[%d]", c.path, i), all: statement, known: c.known, causes: c.causes}
		if name := statement["name"]; name != nil && names[name] {
			c.causes.Add(at.path+".name", "The name %q is used twice", name)
		}
		names[statement["name"]] = true
		if _, ok := statement["type"]; !ok {
			statement["type"] = statementTypes[0]
		}
		at.choice(ctx, "type", statementTypes)
		at.choice(ctx, "namespace", statementFormats)
		if statement["type"] == "GROUP" {
			at.need(statement, "filterType", "filterValue")
			at.choice(ctx, "filterType", filterTypes)
			delete(statement, "values")
		} else {
			at.need(statement, "values")
			at.checkValues()
			delete(statement, "filterType")
			delete(statement, "filterValue")
		}
	}
	return stored(list)
}

// choice checks that a member, if present, has one of the values.
func (c samlContext) choice(ctx context.Context, member string, values []string) {
	if value, ok := c.all[member]; ok {
		at := c
		at.path += "." + member
		among(values...)(ctx, value, at)
	}
}

var reference = regexp.MustCompile(`^(user|source|appuser|app|org)\.`)

// checkValues checks the values of a statement. A value that is not a reference and has no expression in ${} is plain text.
func (c samlContext) checkValues() {
	values, _ := c.all["values"].([]any)
	for i, value := range values {
		text, ok := value.(string)
		path := fmt.Sprintf("%s.values[%d]", c.path, i)
		if !ok || len(text) > maxText {
			c.causes.Add(path, "The value must be a string of at most %d bytes", maxText)
			continue
		}
		var err error
		if reference.MatchString(text) {
			_, err = expression.Compile(text, c.names(text))
		} else {
			_, err = expression.CompileTemplate(text, c.names(text))
		}
		if err != nil {
			c.causes.Add(path, "%s", err)
		}
	}
}

func checkHooks(ctx context.Context, value any, c samlContext) any {
	list := c.elements(value, catalog.Setting{Name: "id", Kind: catalog.Text, Required: true})
	for i, hook := range list {
		if id, ok := hook["id"].(string); ok && !c.known.hook(ctx, id) {
			c.causes.Add(fmt.Sprintf("%s[%d].id", c.path, i), "No inline hook of the SAML type has this id")
		}
	}
	return stored(list)
}

// hookDeleted removes a deleted inline hook from the applications that refer to it.
func (s *Slice) hookDeleted(ctx context.Context, tx *docstore.Tx, e model.InlineHookDeleted) error {
	return model.Each(ctx, tx, s.Apps, nil, func(doc docstore.Doc[model.App]) error {
		hooks, _ := doc.Value.Settings.SignOn[catalog.InlineHooks].([]any)
		left := slices.DeleteFunc(slices.Clone(hooks), func(element any) bool {
			hook, _ := element.(map[string]any)
			return hook["id"] == e.ID
		})
		if len(left) == len(hooks) {
			return nil
		}
		app := doc.Value
		app.Settings.SignOn = maps.Clone(app.Settings.SignOn)
		app.Settings.SignOn[catalog.InlineHooks] = left
		if _, err := s.Apps.Update(ctx, tx, doc.ID, doc.Rev, app); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.AppChanged{App: doc.ID})
	})
}

// withHookLinks returns settings.signOn with a link to each inline hook that it refers to.
func withHookLinks(ctx context.Context, signOn map[string]any) map[string]any {
	hooks, _ := signOn[catalog.InlineHooks].([]any)
	if len(hooks) == 0 {
		return signOn
	}
	linked := make([]any, len(hooks))
	for i, element := range hooks {
		hook, _ := element.(map[string]any)
		id, _ := hook["id"].(string)
		linked[i] = map[string]any{"id": id, "_links": rest.Links{"self": rest.To(rest.URL(ctx, "api", "v1", "inlineHooks", id), "GET")}}
	}
	out := maps.Clone(signOn)
	out[catalog.InlineHooks] = linked
	return out
}
