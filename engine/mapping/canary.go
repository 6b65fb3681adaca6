package mapping

// Canary gives a new mapping to some users first. A Directory that asks it for every user hands the rest over by replacing it
// with the Candidate alone.
type Canary struct {
	Stable, Candidate *Mapping
	// Users says who gets the Candidate. Defaults to nobody.
	Users func(id string) bool
}

// For returns the mapping of a user.
func (c Canary) For(id string) *Mapping {
	if c.Users != nil && c.Users(id) {
		return c.Candidate
	}
	return c.Stable
}

// Apply is Mapping.Apply with the mapping of a user.
func (c Canary) Apply(id string, v Values) (Result, error) { return c.For(id).Apply(v) }

// Preview is Mapping.Preview with the mapping of a user.
func (c Canary) Preview(id string, v Values) []Row { return c.For(id).Preview(v) }
