//go:build !linux

package sqldbtest

import "errors"

// cluster is only made on Linux, where the kernel ends it together with the test process.
type cluster struct{}

var private cluster

func (c *cluster) url() (string, error) {
	return "", errors.New("a private cluster is made on Linux only")
}

func (c *cluster) stop() error { return nil }
