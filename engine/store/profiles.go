package store

import "github.com/scimwright/scimwright/engine"

// Capabilities is the profile of an app's target, as it is stored.
type Capabilities struct {
	BaseURL string         `json:"baseUrl"` // that was probed
	Profile engine.Profile `json:"profile"`
}
