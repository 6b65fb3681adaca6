package scimserver

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

// replace handles PUT on one resource (RFC 7644 section 3.5.1). Attributes that are absent are removed, except the password, which clients
// cannot read and therefore cannot send back.
func (s *server) replace(r *request, t *resourceType) (*reply, error) {
	p, err := r.projection()
	if err != nil {
		return nil, err
	}
	body, err := s.readObject(r)
	if err != nil {
		return nil, err
	}
	sent := &scim.Resource{Object: *body}
	p.Written = t.written(body)
	rec, err := s.change(r, t, memberScope{all: true}, false, func(current *scim.Resource) (*scim.Resource, error) {
		opts := s.cleaning()
		opts.Previous = current
		return t.Clean(sent, opts)
	})
	if err != nil {
		return nil, err
	}
	return s.resourceReply(r, t, http.StatusOK, rec, p)
}
