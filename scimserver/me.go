package scimserver

import (
	"net/http"

	"github.com/scimwright/scimwright/scim"
)

// meRoute returns the route of /Me, the resource that the token belongs to (RFC 7644 section 3.11). Responses contain the location of that
// resource, not /Me. POST on /Me, a self-registration, is not implemented, because a token belongs either to an existing resource or to no
// resource.
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

// subject returns the type of the resource that the request's token belongs to. If the token belongs to no resource, the error is 501, as
// the RFC requires. If the resource was deleted, the action that handles the request returns 404.
func (s *server) subject(r *request) (*resourceType, error) {
	if r.grant.Subject == (Subject{}) {
		return nil, scim.Errorf(http.StatusNotImplemented, "", "the token does not belong to a resource, so /Me is not available")
	}
	t := s.typeNamed(r.grant.Subject.Type)
	if t == nil || !plausibleID(r.grant.Subject.ID) {
		return nil, ErrNotFound
	}
	return t, nil
}
