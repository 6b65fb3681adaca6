package scimserver

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

// replace answers PUT on one resource (RFC 7644 section 3.5.1). Attributes that are not sent are cleared, but for the
// password, which no client can read and so cannot send back.
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
	rec, err := s.change(r, t, memberScope{all: true}, func(current *scim.Resource) (*scim.Resource, error) {
		opts := s.cleaning()
		opts.Previous = current
		return t.Clean(sent, opts)
	})
	if err != nil {
		return nil, err
	}
	return s.shown(r, t, http.StatusOK, rec, p)
}
