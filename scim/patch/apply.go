package patch

import (
	"errors"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// Options tunes Apply. The zero value is the RFC.
type Options struct {
	// Lenient takes what well-known clients send outside the RFC.
	Lenient bool
}

// Apply applies the operations in order to a copy of r and returns it; r is not changed.
func Apply(r *scim.Resource, req *scim.PatchRequest, rt *schema.ResourceType, opts Options) (out *scim.Resource, changed bool, err error) {
	return nil, false, errors.New("not yet")
}
