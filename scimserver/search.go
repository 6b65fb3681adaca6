package scimserver

import "github.com/scimwright/scimwright/scim"

// search handles POST on .search below an endpoint (RFC 7644 section 3.4.3).
func (s *server) search(r *request, t *resourceType) (*reply, error) {
	return s.searchTypes(r, t)
}

// searchRoot handles POST on .search at the root.
func (s *server) searchRoot(r *request) (*reply, error) {
	return s.searchTypes(r, s.types...)
}

func (s *server) searchTypes(r *request, types ...*resourceType) (*reply, error) {
	body, err := s.readObject(r)
	if err != nil {
		return nil, err
	}
	req, err := scim.ParseSearchRequest(body)
	if err != nil {
		return nil, err
	}
	q, err := s.readQuery(req)
	if err != nil {
		return nil, err
	}
	return s.runQuery(r, q, types)
}
