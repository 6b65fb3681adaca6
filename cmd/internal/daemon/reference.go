package daemon

import (
	"reflect"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
)

// A Setting is a member of the configuration file.
type Setting struct {
	Path string // such as "retention.events.age"; NAME and ID are names that the operator chooses
	Flag string // flag of serve engine with the same meaning, without hyphens, or ""
	Type string // "string", "number", "true or false", "list" or "object"
	Help string // only without a flag
}

// Settings returns the members of the configuration file, in the order of the code. Members of tenants have the names of those of the
// default tenant, which are at the top.
func Settings() []Setting {
	return settingsOf(reflect.TypeFor[configFile](), "", "")
}

func settingsOf(t reflect.Type, path, flags string) (all []Setting) {
	docs := map[string]reflect.StructTag{}
	if described, ok := reflect.Zero(t).Interface().(rest.Described); ok {
		docs = described.MoreTags()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			all = append(all, settingsOf(f.Type, path, flags)...)
			continue
		}
		if name == "" || name == "-" || !f.IsExported() || f.Tag.Get("readOnly") == "true" || docs[name].Get("readOnly") == "true" {
			continue
		}
		doc := f.Tag.Get("doc") + docs[name].Get("doc")
		flag, hasFlag := f.Tag.Lookup("flag")
		flag = flags + flag
		element, below := f.Type, under(path, name)
		if element.Kind() == reflect.Pointer {
			element = element.Elem()
		}
		switch {
		case hasFlag && element.Kind() == reflect.Struct:
			all = append(all, settingsOf(element, below, flag)...)
			continue
		case hasFlag:
			all = append(all, Setting{Path: below, Flag: flag, Type: typeOf(element)})
			continue
		}
		all = append(all, Setting{Path: below, Type: typeOf(element), Help: doc})
		switch {
		case below == "tenants": // the same members as those of the default tenant
		case element.Kind() == reflect.Map && element.Elem().Kind() == reflect.Struct:
			all = append(all, settingsOf(element.Elem(), below+".ID", "")...)
		case element.Kind() == reflect.Slice && element.Elem().Kind() == reflect.Struct:
			all = append(all, settingsOf(element.Elem(), below+"[]", "")...)
		case element.Kind() == reflect.Struct:
			all = append(all, settingsOf(element, below, "")...)
		}
	}
	return all
}

func typeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number"
	default:
		return "string"
	}
}
