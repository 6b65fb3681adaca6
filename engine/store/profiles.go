package store

import "github.com/scimwright/scimwright/engine"

// TargetProfile is the profile of an app's target, as it is stored.
type TargetProfile struct {
	BaseURL string         `json:"baseUrl"` // of the probed target
	Profile engine.Profile `json:"profile"`
}
