package patch

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

// Defaults of [Options].
const (
	DefaultMaxOperations = 1000
	DefaultMaxWork       = 1_000_000
)

// Options configures [Apply]. The zero value follows the RFC.
type Options struct {
	// Accept is the set of nonstandard inputs to accept. Default: none. UnknownAttributes has no effect here: in a PATCH, unknown attributes
	// are always an error.
	Accept lenient.Set
	// MaxOperations is the maximum number of operations per request. Default: DefaultMaxOperations.
	MaxOperations int
	// MaxWork is the maximum number of values that all operations of a request read or compare together, such as each element of the attribute
	// that an operation names. A string counts once per 256 bytes. Default: DefaultMaxWork, less than half a second of processor time.
	MaxWork int
	// Interrupt is called at least once per operation, unless it is nil. If it returns an error, Apply stops and returns that error. Callers
	// pass the method Err of the context of their request.
	Interrupt func() error
}

// Apply applies the operations in order to a copy of r, each to the result of the previous one, and returns the copy. Apply never changes
// r. If one operation fails, none takes effect. changed is false if the result equals r; callers then do not change the version and
// lastModified of the resource (RFC 7644 section 3.5.2.1). In the result, "schemas" lists the extensions in use.
//
// The error is a *scim.Error. Its detail names the operation. It is one of:
//
//   - 400 invalidPath: malformed path, unknown attribute
//   - 400 noTarget: remove without path, value filter without match
//   - 400 mutability: read-only attribute, change of an immutable attribute that has a value, removal of a required attribute
//   - 400 invalidValue: missing value, wrong type, unknown attribute in a value, required attribute without a value
//   - 400 invalidFilter: a value filter that its attribute does not allow
//   - 413: too many operations, or too much work
//
// If Options.Interrupt returns an error, that is the error of Apply.
func Apply(r *scim.Resource, req *scim.PatchRequest, rt *schema.ResourceType, opts Options) (out *scim.Resource, changed bool, err error) {
	limit := cmp.Or(opts.MaxOperations, DefaultMaxOperations)
	if len(req.Operations) > limit {
		return nil, false, scim.Errorf(http.StatusRequestEntityTooLarge, "", "more than %d operations in a PATCH", limit)
	}
	p := patcher{
		out:   r.Clone(),
		rt:    rt,
		opts:  opts,
		clean: schema.CleanOptions{RefuseUnknown: true, Accept: opts.Accept},
		left:  cmp.Or(opts.MaxWork, DefaultMaxWork),
	}
	for i, op := range req.Operations {
		err := p.spend(weight(op.Value))
		if err == nil {
			err = p.operation(op)
		}
		if err != nil {
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

// patcher applies operations to out, which no other code references until Apply returns.
type patcher struct {
	out   *scim.Resource
	rt    *schema.ResourceType
	opts  Options
	clean schema.CleanOptions
	left  int // of Options.MaxWork
}

// verb is an operation on an attribute: add or replace.
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
		return fail(scim.InvalidValue, "op %q is not one of add, remove, replace", op.Op)
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
