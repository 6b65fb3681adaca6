package scimserver

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/patch"
)

// patch answers PATCH on one resource (RFC 7644 section 3.5.2): all operations or none.
//
// The answer is the resource, but for groups: those are answered without a body unless attributes or excludedAttributes
// ask for one, since to change one member of a large group must not send all of them back.
func (s *server) patch(r *request, t *resourceType) (*reply, error) {
	p, err := r.projection()
	if err != nil {
		return nil, err
	}
	body, err := s.readObject(r)
	if err != nil {
		return nil, err
	}
	req, err := scim.ParsePatchRequest(body)
	if err != nil {
		return nil, err
	}
	if n := len(req.Operations); n > s.limits.MaxPatchOperations {
		return nil, scim.Errorf(http.StatusRequestEntityTooLarge, "", "%d operations are more than the limit of %d", n,
			s.limits.MaxPatchOperations)
	}
	for _, op := range req.Operations {
		p.Written = append(p.Written, writtenByOperation(op, t)...)
	}
	var scope memberScope
	if t.isGroup {
		scope = patchScope(req, t)
	}
	rec, err := s.change(r, t, scope, func(current *scim.Resource) (*scim.Resource, error) {
		next, _, err := patch.Apply(current, req, t.ResourceType, patch.Options{Accept: s.accept})
		return next, err
	})
	if err != nil {
		return nil, err
	}
	if t.isGroup && !r.params.Has("attributes") && !r.params.Has("excludedAttributes") {
		return &reply{status: http.StatusNoContent, etag: versionTag(rec)}, nil
	}
	return s.shown(r, t, http.StatusOK, rec, p)
}
