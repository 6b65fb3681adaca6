package conformance

import (
	"slices"
	"strings"
	"sync"
)

// secrets are the values that must not occur in stored exchanges. Concurrent requests may add credentials.
type secrets struct {
	mu     sync.Mutex
	values []string
}

// credentials adds the words of a header value, without the scheme of an Authorization header.
func (s *secrets) credentials(value string) {
	words := strings.Fields(value)
	if len(words) > 1 &&
		slices.ContainsFunc([]string{"Bearer", "Basic"}, func(scheme string) bool { return strings.EqualFold(words[0], scheme) }) {
		words = words[1:]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, word := range words {
		if !slices.Contains(s.values, word) {
			s.values = append(s.values, word)
		}
	}
}

func (s *secrets) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values)
}
