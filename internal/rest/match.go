package rest

import "strings"

// CheckMatch returns an error with CodePrecondition if an If-Match header does not contain the entity tag. An empty header matches. Weak
// tags match, because the API has no strong ones.
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
