package mapping

// Canary uses a candidate mapping for some users and the stable mapping for the others. A Directory calls it for every user. To complete
// the rollout, the embedder replaces the Canary by the Candidate.
type Canary struct {
	Stable, Candidate *Mapping
	// Users reports whether a user gets the Candidate. Default: no user.
	Users func(id string) bool
}

// For returns the mapping of a user.
func (c Canary) For(id string) *Mapping {
	if c.Users != nil && c.Users(id) {
		return c.Candidate
	}
	return c.Stable
}

// Apply calls Mapping.Apply of the mapping of the user.
func (c Canary) Apply(id string, v Values) (Result, error) { return c.For(id).Apply(v) }

// Preview calls Mapping.Preview of the mapping of the user.
func (c Canary) Preview(id string, v Values) []Row { return c.For(id).Preview(v) }
