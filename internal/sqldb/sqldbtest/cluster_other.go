//go:build !linux

package sqldbtest

import (
	"errors"
	"testing"
)

// cluster is a stub: only on Linux does the kernel stop the server together with the test process.
type cluster struct{}

var private cluster

func (c *cluster) url() (string, error) {
	return "", errors.New("a private cluster requires Linux")
}

func (c *cluster) stop() error { return nil }

// PooledURL skips the test: PgBouncer runs in front of a private cluster.
func PooledURL(t testing.TB, _ ...Option) string {
	t.Helper()
	t.Skip("a private cluster requires Linux")
	return ""
}

// Pair is a stub: its servers require Linux.
type Pair struct{}

// NewPair skips the test.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	t.Skip("a pair of servers requires Linux")
	return nil
}

// URL returns an empty string.
func (p *Pair) URL() string { return "" }

// PooledURL returns an empty string.
func (p *Pair) PooledURL(string) string { return "" }

// Kill does nothing.
func (p *Pair) Kill() {}

// Promote does nothing.
func (p *Pair) Promote() {}
