package scimserver

import (
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// rejectFilter rejects a filter on a discovery endpoint (RFC 7644 section 4). Other query parameters are ignored there.
func rejectFilter(r *request) error {
	if r.params.Has("filter") {
		return scim.Errorf(http.StatusForbidden, "", "discovery endpoints cannot be filtered")
	}
	return nil
}

// getServiceProviderConfig returns the features of this server (RFC 7643 section 5, RFC 9865 section 4).
func (s *server) getServiceProviderConfig(r *request) (*reply, error) {
	if err := rejectFilter(r); err != nil {
		return nil, err
	}
	supported := func(yes bool, more ...scim.Member) *scim.Object {
		return scim.NewObject(append([]scim.Member{{Name: "supported", Value: yes}}, more...)...)
	}
	doc := &scim.Resource{}
	doc.AddSchema(scim.ServiceProviderConfigSchema)
	doc.Set("patch", supported(true))
	doc.Set("bulk", supported(true,
		scim.Member{Name: "maxOperations", Value: s.limits.MaxBulkOperations},
		scim.Member{Name: "maxPayloadSize", Value: s.limits.MaxBulkPayload}))
	doc.Set("filter", supported(true, scim.Member{Name: "maxResults", Value: s.limits.MaxPage}))
	doc.Set("changePassword", supported(true))
	doc.Set("sort", supported(true))
	doc.Set("etag", supported(true))
	pagination := scim.NewObject(
		scim.Member{Name: "cursor", Value: true},
		scim.Member{Name: "index", Value: true},
		scim.Member{Name: "defaultPaginationMethod", Value: "index"},
		scim.Member{Name: "defaultPageSize", Value: s.limits.DefaultPage},
		scim.Member{Name: "maxPageSize", Value: s.limits.MaxPage},
	)
	if seconds := int(s.cursors.timeout.Seconds()); seconds > 0 { // a cursorTimeout must be positive
		pagination.Set("cursorTimeout", seconds)
	}
	doc.Set("pagination", pagination)
	doc.Set("authenticationSchemes", []any{scim.NewObject(
		scim.Member{Name: "type", Value: "oauthbearertoken"},
		scim.Member{Name: "name", Value: "OAuth Bearer Token"},
		scim.Member{Name: "description", Value: "A bearer token in the Authorization header"},
		scim.Member{Name: "specUri", Value: "https://www.rfc-editor.org/info/rfc6750"},
		scim.Member{Name: "primary", Value: true},
	)})
	return s.discovered(r, doc, "ServiceProviderConfig", "/ServiceProviderConfig"), nil
}

// discovered adds the missing parts of meta to a discovery document and returns the document as reply.
func (s *server) discovered(r *request, doc *scim.Resource, resourceType, path string) *reply {
	doc = located(r, doc, resourceType, path)
	return &reply{status: http.StatusOK, body: doc}
}

func located(r *request, doc *scim.Resource, resourceType, path string) *scim.Resource {
	doc = doc.Clone()
	doc.SetMeta(scim.Meta{ResourceType: resourceType, Location: r.base + path})
	return doc
}

// schemaDocuments returns the documents of the schemas of all resource types and discovery documents, each once.
func schemaDocuments(types []*schema.ResourceType) []*scim.Resource {
	var all []*schema.Schema
	for _, rt := range types {
		all = append(all, rt.Schema)
	}
	for _, rt := range types {
		for _, ext := range rt.Extensions {
			all = append(all, ext.Schema)
		}
	}
	all = append(all, schema.ServiceProviderConfig(), schema.ResourceTypeSchema(), schema.SchemaSchema())
	var docs []*scim.Resource
	for _, s := range all {
		if !slices.ContainsFunc(docs, func(d *scim.Resource) bool { return scim.EqualName(d.ID(), s.ID) }) {
			docs = append(docs, s.Resource())
		}
	}
	return docs
}

func (s *server) listSchemas(r *request) (*reply, error) {
	if err := rejectFilter(r); err != nil {
		return nil, err
	}
	docs := make([]*scim.Resource, len(s.schemas))
	for i, doc := range s.schemas {
		docs[i] = located(r, doc, "Schema", "/Schemas/"+doc.ID())
	}
	return discoveryList(docs), nil
}

func (s *server) getSchema(r *request) (*reply, error) {
	if err := rejectFilter(r); err != nil {
		return nil, err
	}
	for _, doc := range s.schemas {
		if scim.EqualName(doc.ID(), r.id) {
			return s.discovered(r, doc, "Schema", "/Schemas/"+doc.ID()), nil
		}
	}
	return nil, ErrNotFound
}

func (s *server) listResourceTypes(r *request) (*reply, error) {
	if err := rejectFilter(r); err != nil {
		return nil, err
	}
	docs := make([]*scim.Resource, len(s.types))
	for i, t := range s.types {
		docs[i] = located(r, t.Resource(), "ResourceType", "/ResourceTypes/"+t.Name)
	}
	return discoveryList(docs), nil
}

func (s *server) getResourceType(r *request) (*reply, error) {
	if err := rejectFilter(r); err != nil {
		return nil, err
	}
	for _, t := range s.types {
		if r.id == t.Name || r.id == t.ID {
			return s.discovered(r, t.Resource(), "ResourceType", "/ResourceTypes/"+t.Name), nil
		}
	}
	return nil, ErrNotFound
}

// discoveryList returns a reply with all documents. Paging does not apply to them.
func discoveryList(docs []*scim.Resource) *reply {
	return &reply{status: http.StatusOK, body: &scim.ListResponse{
		TotalResults: len(docs), StartIndex: 1, ItemsPerPage: len(docs), Resources: docs,
	}}
}
