package trace

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// Desired returns the desired state, without secrets.
func Desired(desired any) (engine.Want, *scim.Resource) {
	switch d := desired.(type) {
	case engine.UserState:
		if d.Resource == nil {
			return d.Want, nil
		}
		r := &scim.Resource{}
		for name, value := range d.Resource.All() {
			if !scim.EqualName(name, "password") {
				r.Set(name, WithoutSecrets(name, value))
			}
		}
		return d.Want, r
	case engine.GroupState:
		r := &scim.Resource{}
		r.Set("displayName", d.DisplayName)
		return d.Want, r
	}
	return "", nil
}
