package console

// ActionIDs returns the operations of all actions.
func ActionIDs() []string { return sortedKeys(actions) }

// Permission returns the permission of an action, empty if the control API has no such operation.
func (c *Console) Permission(id string) string { return c.operations[id].Access }

// ForgetCaches discards what the overview has cached.
func (c *Console) ForgetCaches() {
	c.lags.forget()
	c.labels.forget()
}
