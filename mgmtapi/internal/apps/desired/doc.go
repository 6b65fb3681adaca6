// Package desired is the view of the management API for a provisioning engine. At each call it reads where an application is provisioned
// and the desired state of each user and pushed group there. It stores the results that the engine reports.
//
// Reads change nothing and reports emit no events, so that a result never causes another attempt. The package does not depend on any
// engine: a bridge outside of the management API translates between the two.
package desired
