package scimserver

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver/internal/splice"
)

// projection reads the URL parameters attributes and excludedAttributes (RFC 7644 section 3.9).
func (r *request) projection() (schema.Projection, error) {
	return schema.ParseProjection(r.params["attributes"], r.params["excludedAttributes"])
}

// writtenBy returns the attributes and sub-attributes that a representation names. Those that are returned on request are included in the
// response to a write that named them (RFC 7643 section 7).
func writtenBy(body *scim.Object, t *resourceType) []scim.AttrPath {
	var paths []scim.AttrPath
	for name, value := range body.All() {
		if extension := t.Extension(name); extension != nil {
			data, _ := value.(*scim.Object)
			for name, value := range data.All() {
				paths = appendWritten(paths, scim.AttrPath{URN: extension.Schema.ID, Name: name}, value)
			}
			continue
		}
		if path, err := scim.ParseAttrPath(name); err == nil {
			paths = appendWritten(paths, path, value)
		}
	}
	return paths
}

// appendWritten appends a path and the paths of the sub-attributes that its value names.
func appendWritten(paths []scim.AttrPath, path scim.AttrPath, value any) []scim.AttrPath {
	begin := len(paths)
	paths = append(paths, path)
	if path.Sub != "" {
		return paths
	}
	elements, many := value.([]any)
	if !many {
		elements = []any{value}
	}
	for _, element := range elements {
		o, _ := element.(*scim.Object)
		for name := range o.All() {
			path.Sub = name
			if !slices.Contains(paths[begin:], path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// written is writtenBy for types with attributes that are returned on request. For other types it returns nil.
func (t *resourceType) written(body *scim.Object) []scim.AttrPath {
	if !t.onRequest {
		return nil
	}
	return writtenBy(body, t)
}

// writtenByOperation is writtenBy for an operation of a PATCH.
func writtenByOperation(op scim.PatchOperation, t *resourceType) []scim.AttrPath {
	if op.Path == "" {
		value, _ := op.Value.(*scim.Object)
		return writtenBy(value, t)
	}
	path, err := filter.ParsePath(op.Path)
	if err != nil {
		return nil // package patch will reject the operation
	}
	if path.Sub != "" {
		path.Attr.Sub = path.Sub
	}
	if r, ok := t.Resolve(path.Attr); ok && r.Attribute == nil {
		return append(writtenBy(scim.NewObject(scim.Member{Name: r.Path.URN, Value: op.Value}), t), path.Attr)
	}
	return appendWritten(nil, path.Attr, op.Value)
}

// represent converts records of one type to their representations for the client. It does not read data that the projection omits. Like
// complete, it may replace records in recs by newer ones.
func (s *server) represent(ctx context.Context, base string, t *resourceType, recs []*Record, p schema.Projection) ([]*scim.Resource,
	error) {
	full, err := s.complete(ctx, base, t, recs, shows(t, p))
	if err != nil {
		return nil, err
	}
	for i, r := range full {
		full[i] = t.Project(r, p)
	}
	return full, nil
}

// shows reports whether a projection includes the type's derived attribute or a part of it.
func shows(t *resourceType, p schema.Projection) bool {
	is := func(path scim.AttrPath) bool {
		return scim.EqualName(path.Name, t.derived()) && (path.URN == "" || scim.EqualName(path.URN, t.Schema.ID))
	}
	if len(p.Attributes) > 0 {
		return slices.ContainsFunc(p.Attributes, is)
	}
	return !slices.ContainsFunc(p.ExcludedAttributes, func(path scim.AttrPath) bool { return is(path) && path.Sub == "" })
}

// complete adds id and meta to the resources of records. If the response needs it, complete also adds the attribute that is derived from
// the membership relation. If a group changes while its members are read, its record in recs is replaced by one that matches the members.
// The results share values with the records: callers may project them, but must not modify them.
func (s *server) complete(ctx context.Context, base string, t *resourceType, recs []*Record, derived bool) ([]*scim.Resource, error) {
	relation := make([][]any, len(recs))
	if derived {
		var err error
		switch {
		case t.isGroup:
			relation, err = s.membersOf(ctx, base, t, recs)
		case t.isUser:
			relation, err = s.groupsOfAll(ctx, base, recs)
		}
		if err != nil {
			return nil, err
		}
	}
	out := make([]*scim.Resource, len(recs))
	for i, rec := range recs {
		r := &scim.Resource{}
		r.Grow(rec.Resource.Len() + 3) // id, meta and the derived attribute
		r.Set("schemas", rec.Resource.Array("schemas"))
		r.SetID(rec.ID)
		for name, value := range rec.Resource.All() {
			if !scim.EqualName(name, "schemas") {
				r.Set(name, value)
			}
		}
		if len(relation[i]) > 0 {
			r.Set(t.derived(), relation[i])
		}
		r.SetMeta(scim.Meta{
			ResourceType: t.Name,
			Created:      rec.Created,
			LastModified: rec.LastModified,
			Location:     location(base, t, rec.ID),
			Version:      versionTag(rec),
		})
		out[i] = r
	}
	return out, nil
}

func location(base string, t *resourceType, id string) string {
	return base + "/" + t.path + "/" + splice.Escape(id)
}

// bulkReply returns the reply to an operation of a bulk request, which contains no resource.
func bulkReply(base string, t *resourceType, status int, rec *Record) *reply {
	return &reply{status: status, id: rec.ID, location: location(base, t, rec.ID), etag: versionTag(rec)}
}

// resourceReply returns a reply that contains one resource.
func (s *server) resourceReply(r *request, t *resourceType, status int, rec *Record, p schema.Projection) (*reply, error) {
	if r.inBulk {
		return bulkReply(r.base, t, status, rec), nil
	}
	if s.raw != nil && !t.isGroup {
		return s.textReply(r, t, status, rec, p)
	}
	recs := []*Record{rec}
	resources, err := s.represent(r.Context(), r.base, t, recs, p)
	if err != nil {
		return nil, err
	}
	rec = recs[0]
	return &reply{status: status, location: location(r.base, t, rec.ID), etag: versionTag(rec), body: resources[0]}, nil
}
