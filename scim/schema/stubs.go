package schema

import (
	"errors"

	"github.com/scimwright/scimwright/scim"
)

func UserType() *ResourceType        { return &ResourceType{} }
func GroupType() *ResourceType       { return &ResourceType{} }
func User() *Schema                  { return nil }
func Group() *Schema                 { return nil }
func EnterpriseUser() *Schema        { return nil }
func ServiceProviderConfig() *Schema { return nil }
func ResourceTypeSchema() *Schema    { return nil }
func SchemaSchema() *Schema          { return nil }

var errStub = errors.New("not yet")

func Parse(data []byte) (*Schema, error)          { return nil, errStub }
func (s *Schema) Resource() *scim.Resource        { return nil }
func (rt *ResourceType) Resource() *scim.Resource { return nil }
func (rt *ResourceType) Resolve(p scim.AttrPath) (Resolved, bool) {
	return Resolved{}, false
}

// CleanOptions tunes Clean.
type CleanOptions struct {
	// RefuseUnknown turns attributes no schema defines into an error. Defaults to dropping them.
	RefuseUnknown bool
	// Lenient accepts "True" and "False" for booleans. Defaults to refusing them.
	Lenient bool
}

func (rt *ResourceType) Clean(in *scim.Resource, opts CleanOptions) (*scim.Resource, error) {
	return nil, errStub
}

// Projection names the attributes an answer shows or leaves out.
type Projection struct{ Attributes, ExcludedAttributes []scim.AttrPath }

func ParseProjection(attributes, excluded []string) (Projection, error) { return Projection{}, errStub }

func (rt *ResourceType) Project(r *scim.Resource, p Projection) *scim.Resource { return r }
