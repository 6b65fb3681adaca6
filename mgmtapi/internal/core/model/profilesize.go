package model

import (
	"encoding/json"

	"github.com/scimwright/scimwright/internal/rest"
)

// Limits of the attributes of a user or a group, and of the own attributes of an app user.
const (
	// MaxProfile is the maximum length of all names and values together, in bytes.
	MaxProfile = 1 << 20
	// MaxElements is the maximum number of elements of all arrays together. In memory, a short element takes many times its length.
	MaxElements = 10_000
)

// CheckSize returns an error if a profile exceeds a limit, unless the one before it exceeds the limit at least as much: a profile that was
// stored before the limits existed can be changed as long as it does not grow.
func CheckSize(before, after map[string]any) error {
	bytes, elements := profileSize(after)
	if bytes <= MaxProfile && elements <= MaxElements {
		return nil
	}
	oldBytes, oldElements := profileSize(before)
	switch {
	case bytes > max(MaxProfile, oldBytes):
		return rest.Invalid("profile", "The attributes have more than %d bytes", MaxProfile)
	case elements > max(MaxElements, oldElements):
		return rest.Invalid("profile", "The arrays have more than %d elements", MaxElements)
	}
	return nil
}

func profileSize(profile map[string]any) (bytes, elements int) {
	for name, value := range profile {
		bytes += len(name) + valueSize(value, &elements)
	}
	return bytes, elements
}

// valueSize returns the length of a value, and counts the elements of arrays.
func valueSize(value any, elements *int) (n int) {
	switch v := value.(type) {
	case string:
		return len(v)
	case json.Number:
		return len(v)
	case []any:
		*elements += len(v)
		for _, element := range v {
			n += valueSize(element, elements)
		}
	case map[string]any:
		for name, member := range v {
			n += len(name) + valueSize(member, elements)
		}
	}
	return n + 1
}
