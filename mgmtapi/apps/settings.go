package apps

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/mgmtapi/catalog"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// maxText is the longest text of a setting, in bytes.
const maxText = 4096

// appSettings picks the members of settings.app that the entry lists. What it
// does not list is dropped, an optional member that is missing becomes null.
func appSettings(entry *catalog.Entry, given map[string]any, causes *rest.Causes) map[string]any {
	out := pick(entry.App, given, "settings.app.", causes)
	for _, s := range entry.App {
		if _, ok := out[s.Name]; !ok {
			out[s.Name] = nil
		}
	}
	return out
}

// signOnSettings picks the members of settings.signOn that the entry lists for
// the mode. It returns nil for modes without any. For custom applications,
// which are described by nothing else, missing booleans are false.
func signOnSettings(entry *catalog.Entry, mode catalog.Mode, given map[string]any, causes *rest.Causes) map[string]any {
	settings := entry.SignOnFor(mode)
	if len(settings) == 0 {
		return nil
	}
	out := pick(settings, given, "settings.signOn.", causes)
	if entry.Custom() {
		for _, s := range settings {
			if _, ok := out[s.Name]; !ok && s.Kind == catalog.Bool {
				out[s.Name] = false
			}
		}
	}
	checkStatements(out[catalog.AttributeStatements], causes)
	if hooks, _ := out[catalog.InlineHooks].([]any); len(hooks) > 0 {
		causes.Add("settings.signOn."+catalog.InlineHooks, "There is no inline hook of the SAML type with this id")
	}
	return out
}

// pick takes the listed members, each by its name or its alias, and checks
// their kinds. Null counts as absent, and so does an empty text.
func pick(settings []catalog.Setting, given map[string]any, path string, causes *rest.Causes) map[string]any {
	out := map[string]any{}
	for _, s := range settings {
		value, ok := given[s.Name]
		if !ok && s.Alias != "" {
			value, ok = given[s.Alias]
		}
		if !ok || value == nil || value == "" {
			if s.Required {
				causes.Blank(path + s.Name)
			}
			continue
		}
		if problem := misfit(s.Kind, value); problem != "" {
			causes.Add(path+s.Name, "%s", problem)
			continue
		}
		out[s.Name] = value
	}
	return out
}

// keepAliased adds what is stored of the settings that have two spellings and were sent in neither: clients that know only the other
// one lose them between reading an application and sending it back.
func keepAliased(settings []catalog.Setting, given, stored map[string]any) map[string]any {
	for _, s := range settings {
		_, named := given[s.Name]
		_, aliased := given[s.Alias]
		if s.Alias == "" || named || aliased || stored[s.Name] == nil || given == nil {
			continue
		}
		given = maps.Clone(given)
		given[s.Name] = stored[s.Name]
	}
	return given
}

// misfit says what is wrong with a value, "" when it fits the kind.
func misfit(kind catalog.Kind, value any) string {
	text, isText := value.(string)
	switch kind {
	case catalog.Bool:
		if _, ok := value.(bool); !ok {
			return "The value must be true or false"
		}
	case catalog.Object:
		if _, ok := value.(map[string]any); !ok {
			return "The value must be an object"
		}
	case catalog.List:
		if _, ok := value.([]any); !ok {
			return "The value must be an array"
		}
	case catalog.Text, catalog.URL:
		if !isText {
			return "The value must be a string"
		}
		if len(text) > maxText {
			return "The value is too long"
		}
		if kind == catalog.URL && !isURL(text) {
			return "The value must be an absolute http or https URL"
		}
	}
	return ""
}

// isURL says whether the text is an absolute http or https URL with a host.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// The accepted values in attribute statements.
var (
	statementTypes = []string{"EXPRESSION", "GROUP"}
	filterTypes    = []string{"STARTS_WITH", "EQUALS", "CONTAINS", "REGEX"}
)

// checkStatements checks SAML attribute statements: objects with unique names,
// either an expression with values or a filter on groups.
func checkStatements(statements any, causes *rest.Causes) {
	const path = "settings.signOn." + catalog.AttributeStatements
	list, _ := statements.([]any)
	names := map[string]bool{}
	for _, element := range list {
		statement, _ := element.(map[string]any)
		name, _ := statement["name"].(string)
		kind, _ := statement["type"].(string)
		filter, _ := statement["filterType"].(string)
		_, hasValues := statement["values"].([]any)
		_, hasFilterValue := statement["filterValue"].(string)
		switch {
		case name == "":
			causes.Add(path, "Each statement needs a name")
		case names[name]:
			causes.Add(path, "The name %q is used twice", name)
		case !slices.Contains(statementTypes, kind):
			causes.Add(path, "The type of %q must be one of %s", name, strings.Join(statementTypes, ", "))
		case kind == "EXPRESSION" && !hasValues:
			causes.Add(path, "The statement %q needs an array of values", name)
		case kind == "GROUP" && (!slices.Contains(filterTypes, filter) || !hasFilterValue):
			causes.Add(path, "The statement %q needs a filterValue and a filterType out of %s", name, strings.Join(filterTypes, ", "))
		}
		names[name] = true
	}
}
