package scimserver

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

// meRoute is what answers at /Me, which stands for the resource that the token belongs to (RFC 7644 section 3.11). The
// answers name the resource itself as their location. A POST, by which somebody would register, is not implemented: tokens
// here belong to a resource that exists already or to none.
func (s *server) meRoute() route {
	rt := route{http.MethodPost: func(*request) (*reply, error) {
		return nil, scim.Errorf(http.StatusNotImplemented, "", "this server does not create resources at /Me")
	}}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		rt[method] = func(r *request) (*reply, error) {
			t, err := s.subject(r)
			if err != nil {
				return nil, err
			}
			r.id = r.grant.Subject.ID
			return s.routes[t.path+"/"+anySegment][method](r)
		}
	}
	return rt
}

// subject returns the type of the resource that the request's token belongs to. For a token that belongs to none there is
// no /Me, which is 501 by the RFC; 404 is what a subject gets whose resource has been deleted.
func (s *server) subject(r *request) (*resourceType, error) {
	if r.grant.Subject == (Subject{}) {
		return nil, scim.Errorf(http.StatusNotImplemented, "", "the token does not belong to a resource, so there is no /Me for it")
	}
	t := s.typeNamed(r.grant.Subject.Type)
	if t == nil || !plausibleID(r.grant.Subject.ID) {
		return nil, ErrNotFound
	}
	return t, nil
}
