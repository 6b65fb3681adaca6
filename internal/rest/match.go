package rest

import "strings"

// CheckMatch returns an error with CodePrecondition when an If-Match header does not name the entity tag. An empty header
// matches, and weak tags do: they are all there is.
func CheckMatch(header, tag string) error {
	if header == "" {
		return nil
	}
	for candidate := range strings.SplitSeq(header, ",") {
		if candidate = strings.TrimSpace(candidate); candidate == "*" || candidate == tag {
			return nil
		}
	}
	return Fail(CodePrecondition)
}
