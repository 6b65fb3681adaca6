package patch

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// DefaultMaxOperations is the number of operations a request may have unless Options say otherwise. Each may walk through
// the largest attribute of the resource.
const DefaultMaxOperations = 1000

// Options tunes [Apply]. The zero value is the RFC.
type Options struct {
	// Accept is what to take outside the RFC. Defaults to none of it. UnknownAttributes has no meaning here: in a PATCH
	// they are an error always.
	Accept lenient.Set
	// MaxOperations bounds the operations of a request. Defaults to DefaultMaxOperations.
	MaxOperations int
}

// Apply applies the operations in order, each to the result of the one before, to a copy of r and returns it; r is not
// changed, also when an operation fails: all of them count or none. changed is false when the result equals r; callers then
// keep version and time of modification (RFC 7644 section 3.5.2.1). "schemas" follows the extensions in use.
//
// The error is a *scim.Error: 400 with invalidPath (malformed path, unknown attribute), noTarget (remove without path, value
// filter without match), mutability (read-only, set immutable, removal of a required attribute), invalidValue (missing value,
// wrong type, unknown attribute in a value, required attribute emptied), invalidFilter (a value filter its attribute cannot
// take); 413 for too many operations. Its detail names the operation.
func Apply(r *scim.Resource, req *scim.PatchRequest, rt *schema.ResourceType, opts Options) (out *scim.Resource, changed bool, err error) {
	limit := opts.MaxOperations
	if limit == 0 {
		limit = DefaultMaxOperations
	}
	if len(req.Operations) > limit {
		return nil, false, scim.Errorf(http.StatusRequestEntityTooLarge, "", "more than %d operations in a PATCH", limit)
	}
	p := patcher{
		out:   r.Clone(),
		rt:    rt,
		opts:  opts,
		clean: schema.CleanOptions{RefuseUnknown: true, Accept: opts.Accept},
	}
	for i, op := range req.Operations {
		if err := p.operation(op); err != nil {
			return nil, false, numbered(i, err)
		}
	}
	if scim.Equal(&p.out.Object, &r.Object) {
		return p.out, false, nil
	}
	rt.SetSchemas(p.out)
	if err := rt.CheckRequired(p.out); err != nil {
		return nil, false, err
	}
	return p.out, !scim.Equal(&p.out.Object, &r.Object), nil
}

func numbered(i int, err error) error {
	e, ok := errors.AsType[*scim.Error](err)
	if !ok {
		return err
	}
	c := *e
	c.Detail = "Operations[" + strconv.Itoa(i) + "]: " + c.Detail
	return &c
}

// patcher changes out, which is its own.
type patcher struct {
	out   *scim.Resource
	rt    *schema.ResourceType
	opts  Options
	clean schema.CleanOptions
}

// verb is what an operation does to an attribute: add or replace.
type verb func(place, any) error

func (p *patcher) operation(op scim.PatchOperation) error {
	name := op.Op
	if p.opts.Accept.Has(lenient.OpCase) {
		name = strings.ToLower(name)
	}
	var do, each verb
	switch name {
	case scim.OpRemove:
		return p.removal(op)
	case scim.OpAdd:
		do, each = p.add, p.addToElements
	case scim.OpReplace:
		do, each = p.replace, p.replaceElements
	default:
		return fail(scim.InvalidValue, "op %q is none of add, remove, replace", op.Op)
	}
	if !op.HasValue {
		return fail(scim.InvalidValue, "%s needs a value", name)
	}
	if op.Path == "" {
		return p.withoutPath(op.Value, do, each)
	}
	at, err := p.resolve(op.Path)
	if err != nil {
		return err
	}
	if at.elements {
		return each(at, op.Value)
	}
	return do(at, op.Value)
}

// withoutPath applies add or replace to each attribute of the value.
func (p *patcher) withoutPath(value any, do, each verb) error {
	v, ok := value.(*scim.Object)
	if !ok {
		return fail(scim.InvalidValue, "without a path the value must be an object of attributes")
	}
	for name, value := range v.All() {
		at, known := p.member(name)
		if !known {
			if !p.opts.Accept.Has(lenient.PathKeys) {
				return fail(scim.InvalidValue, "%s is not defined by the schemas of %s", name, p.rt.Name)
			}
			var err error
			if at, err = p.resolve(name); err != nil {
				return err
			}
		}
		if at.ignoresReadOnly(value, p.opts.Accept) {
			continue
		}
		do := do
		switch {
		case at.schemas():
			do = p.add
		case at.elements:
			do = each
		}
		if err := do(at, value); err != nil {
			return err
		}
	}
	return nil
}

func fail(t scim.Type, format string, args ...any) error {
	return scim.Errorf(http.StatusBadRequest, t, format, args...)
}
