package daemon

// Requests returns the number of requests of a tenant in flight.
func (d *Daemon) Requests(tenant string) int {
	d.usage.mu.Lock()
	defer d.usage.mu.Unlock()
	if t := d.usage.by[tenant]; t != nil {
		return t.inFlight
	}
	return 0
}

// CloseDatabase closes the connections to the database.
func (d *Daemon) CloseDatabase() error { return d.db.Readers().Close() }
