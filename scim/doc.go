// Package scim contains the data types of SCIM 2.0 (RFC 7643, RFC 7644, RFC 9865): resources as ordered JSON objects with case-insensitive
// names, protocol messages, errors and attribute names.
//
// Package scim reads and writes these types without validating them against a schema, and does not use HTTP. Package schema defines the
// valid values of attributes, package filter evaluates filters, and package patch applies PATCH operations to a resource.
package scim

// MediaType is the media type of every SCIM message (RFC 7644 section 3.1).
const MediaType = "application/scim+json"

// URNs of the schemas of RFC 7643 section 8.7 and of the messages of RFC 7644 section 8.2.
const (
	UserSchema                  = "urn:ietf:params:scim:schemas:core:2.0:User"
	GroupSchema                 = "urn:ietf:params:scim:schemas:core:2.0:Group"
	EnterpriseUserSchema        = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	ServiceProviderConfigSchema = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
	ResourceTypeSchema          = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
	SchemaSchema                = "urn:ietf:params:scim:schemas:core:2.0:Schema"

	ListResponseMessage  = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
	ErrorMessage         = "urn:ietf:params:scim:api:messages:2.0:Error"
	PatchOpMessage       = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
	SearchRequestMessage = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
	BulkRequestMessage   = "urn:ietf:params:scim:api:messages:2.0:BulkRequest"
	BulkResponseMessage  = "urn:ietf:params:scim:api:messages:2.0:BulkResponse"
)
