package filter

import (
	"encoding/json"
	"net/http"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// Check rejects expressions that are not valid for the types of the attributes they name. The error is a *scim.Error, 400 invalidFilter.
// These expressions are invalid:
//
//   - gt, ge, lt and le on booleans and binaries (RFC 7644 table 3)
//   - co, sw and ew on attributes that are neither strings nor references (left open by the RFC)
//   - a comparison of a complex attribute that has no sub-attribute "value"
//   - a value of another type than the attribute's, except "true" and "false" as strings for booleans if accept has
//     lenient.SpelledBooleans
//   - null with operators other than eq and ne
//   - any use of an attribute that is never returned (password), because filters would disclose its value
//
// A path that names no attribute is valid and matches nothing: in a query over several types, some types do not define each attribute
// (section 3.4.2.1).
func Check(e Expr, rt *schema.ResourceType, accept lenient.Set) error {
	var err error
	Walk(e, func(e Expr) bool {
		if err != nil {
			return false
		}
		switch e := e.(type) {
		case Compare:
			if r, ok := rt.Resolve(e.Path); ok {
				err = checkResolved(r, e.Op, e.Value, accept)
			}
		case Present:
			if r, ok := rt.Resolve(e.Path); ok {
				err = checkResolved(r, Pr, nil, accept)
			}
		case ValuePath:
			r, ok := rt.Resolve(e.Path)
			if !ok {
				return false
			}
			if r.Attribute == nil || r.Sub != nil {
				err = illegal("%s cannot have a value filter", e.Path)
				return false
			}
			err = CheckElement(e.Filter, r.Attribute, accept)
			if err == nil && e.Op != "" {
				err = checkElementName(r.Attribute, e.Sub, e.Op, e.Value, accept)
			}
			return false
		}
		return err == nil
	})
	return err
}

// CheckElement does the same as [Check], for the value filter of an attribute. The paths of the filter name sub-attributes. In the filter
// of a simple multi-valued attribute, "value" names the element itself.
func CheckElement(e Expr, a *schema.Attribute, accept lenient.Set) error {
	var err error
	Walk(e, func(e Expr) bool {
		switch e := e.(type) {
		case Compare:
			err = checkElementName(a, e.Path.Name, e.Op, e.Value, accept)
		case Present:
			err = checkElementName(a, e.Path.Name, Pr, nil, accept)
		}
		return err == nil
	})
	return err
}

func checkElementName(a *schema.Attribute, name string, op Op, value any, accept lenient.Set) error {
	sub := elementAttribute(a, name)
	if sub == nil {
		return nil
	}
	return checkComparison(a.Name+"."+sub.Name, sub, op, value, accept)
}

func checkResolved(r schema.Resolved, op Op, value any, accept lenient.Set) error {
	if r.Attribute == nil {
		if op == Pr {
			return nil
		}
		return illegal("%s is a schema, not an attribute", r.Path)
	}
	a := r.Attribute
	if a.Secret() || r.Sub != nil && r.Sub.Secret() {
		return illegal("%s cannot be used in a filter", r.Path)
	}
	switch {
	case r.Sub != nil:
		a = r.Sub
	case a.Type == schema.Complex && op != Pr && value != nil:
		if a = defaultSub(a); a == nil {
			return illegal("%s is complex; name one of its sub-attributes", r.Path)
		}
	}
	return checkComparison(r.Path.String(), a, op, value, accept)
}

// defaultSub returns the sub-attribute that a comparison of a bare multi-valued complex attribute refers to: "value". The RFC requires full
// names, but its examples omit the sub-attribute (section 3.4.2.2).
func defaultSub(a *schema.Attribute) *schema.Attribute {
	if !a.MultiValued {
		return nil
	}
	return a.SubAttribute("value")
}

func checkComparison(path string, a *schema.Attribute, op Op, value any, accept lenient.Set) error {
	if a.Secret() {
		return illegal("%s cannot be used in a filter", path)
	}
	if op == Pr {
		return nil
	}
	if value == nil {
		if op != Eq && op != Ne {
			return illegal("%s cannot be compared with null by %s", path, op)
		}
		return nil
	}
	switch op {
	case Gt, Ge, Lt, Le:
		if a.Type == schema.Boolean || a.Type == schema.Binary || a.Type == schema.Complex {
			return illegal("%s is a %s; %s requires a string, a number or a dateTime", path, a.Type, op)
		}
	case Co, Sw, Ew:
		if a.Type != schema.String && a.Type != schema.Reference && a.Type != "" {
			return illegal("%s is a %s; %s requires a string", path, a.Type, op)
		}
	}
	_, isText := value.(string)
	if !comparable(a, value) || a.Type == schema.Boolean && isText && !accept.Has(lenient.SpelledBooleans) {
		return illegal("%s cannot be compared with %s", path, scim.AppendValue(nil, value))
	}
	return nil
}

// comparable reports whether the value has the type of the attribute.
func comparable(a *schema.Attribute, value any) bool {
	switch a.Type {
	case schema.Boolean:
		_, ok := boolean(value)
		return ok
	case schema.Integer, schema.Decimal:
		_, ok := value.(json.Number)
		return ok
	case schema.DateTime:
		s, ok := value.(string)
		if ok {
			_, err := schema.ParseDateTime(s)
			ok = err == nil
		}
		return ok
	case schema.Complex:
		return false
	default:
		_, ok := value.(string)
		return ok
	}
}

func illegal(format string, args ...any) error {
	return scim.Errorf(http.StatusBadRequest, scim.InvalidFilter, format, args...)
}
