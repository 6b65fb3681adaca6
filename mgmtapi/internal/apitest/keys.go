package apitest

import (
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"sync"
	"testing"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
)

// pairs are RSA key pairs. The tests of this process share them, because generating one takes longer than most tests.
type pairs struct {
	mu   sync.Mutex
	all  []*rsa.PrivateKey
	next map[string]int // index of the next pair, by test
}

var generated = pairs{next: map[string]int{}}

// maxPairs is the maximum number of key pairs of a process. A test repeats them from the first when it needs more.
const maxPairs = 16

// of returns the key source of a test. All APIs of one test have different keys, even if other tests run concurrently.
func (p *pairs) of(t testing.TB) signkey.Source {
	test, _, _ := strings.Cut(t.Name(), "/")
	return func() (*rsa.PrivateKey, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		i := p.next[test] % maxPairs
		if i == len(p.all) {
			pair, err := rsa.GenerateKey(rand.Reader, signkey.Bits)
			if err != nil {
				return nil, err
			}
			p.all = append(p.all, pair)
		}
		p.next[test]++
		return p.all[i], nil
	}
}
