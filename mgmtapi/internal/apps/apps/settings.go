package apps

import (
	"context"
	"maps"
	"net/url"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
)

// maxText is the maximum length of a string in settings, in bytes.
const maxText = 4096

// appSettings returns the members of settings.app that the entry lists. It omits all other members. A missing optional member is null.
func appSettings(entry *catalog.Entry, given map[string]any, causes *rest.Causes) map[string]any {
	out := pick(entry.App, given, "settings.app.", causes)
	for _, s := range entry.App {
		if _, ok := out[s.Name]; !ok {
			out[s.Name] = nil
		}
	}
	return out
}

// signOnSettings returns the members of settings.signOn that the entry lists for the mode. It returns nil if the entry lists no members for
// the mode. An optional member that is sent as null stays null. For custom applications, which have no other defaults, missing booleans are
// false.
func signOnSettings(
	ctx context.Context, entry *catalog.Entry, mode catalog.Mode, given map[string]any, known *references, causes *rest.Causes,
) map[string]any {
	settings := entry.SignOnFor(mode)
	if len(settings) == 0 {
		return nil
	}
	const path = "settings.signOn."
	out := pick(settings, given, path, causes)
	for _, s := range settings {
		if value, ok := given[s.Name]; ok && value == nil && !s.Required {
			out[s.Name] = nil // keep a null that was sent, because clients compare the response with their request
		}
	}
	if entry.Custom() {
		for _, s := range settings {
			if out[s.Name] == nil && s.Kind == catalog.Bool {
				out[s.Name] = false
			}
		}
	}
	for _, member := range samlMembers {
		value := out[member.name]
		if value == nil {
			continue
		}
		// The check records errors in causes; an invalid application is not stored.
		out[member.name] = member.check(ctx, value, samlContext{path: path + member.name, all: out, known: known, causes: causes})
	}
	return out
}

// pick returns the listed members, each by its name or its alias, and checks their types. Null and the empty string count as absent.
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
		if problem := kindProblem(s.Kind, value); problem != "" {
			causes.Add(path+s.Name, "%s", problem)
			continue
		}
		out[s.Name] = value
	}
	return out
}

// keepAliased adds the stored values of settings that have a name and an alias and were sent under neither. Otherwise a client that
// supports only one of the names would delete such a setting by sending back the application that it read.
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

// kindProblem returns the reason why a value does not have the type, or "" if it has the type.
func kindProblem(kind catalog.Kind, value any) string {
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

// isURL reports whether the text is an absolute http or https URL with a host.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
