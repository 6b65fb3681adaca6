//go:build !unix

package sandbox

// lockFile does nothing where the system offers no lock that ends with the process: two sandboxes on the same data are
// then up to the one who starts them.
func lockFile(string) (unlock func() error, err error) { return func() error { return nil }, nil }
