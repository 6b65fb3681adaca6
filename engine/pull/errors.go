package pull

import "fmt"

// Problem is a kind of an Error.
type Problem string

// The problems.
const (
	Unreachable Problem = "unreachable"  // no response in time
	Redirected  Problem = "redirect"     // redirects are not followed
	BadStatus   Problem = "status"       // another status than 200
	TooLong     Problem = "too long"     // longer than Options.MaxResponse
	NotJSON     Problem = "not JSON"     // another media type, malformed JSON, or a member of another type
	Incomplete  Problem = "incomplete"   // a required member is missing or not valid
	OtherObject Problem = "other object" // the response is about another app, user or group
	Unordered   Problem = "unordered"    // the ids do not ascend, or a list does not end
)

// Error is returned if the endpoint has not returned the desired state. It contains no data of the response.
type Error struct {
	Path    string // of the query, such as /user
	App, ID string // of the request
	Problem Problem
	Status  int // of the response, 0 for none
	Detail  string
}

// Error returns a message with the problem.
func (e *Error) Error() string {
	about := e.App
	if e.ID != "" {
		about += " " + e.ID
	}
	return fmt.Sprintf("pull: %s of %s: %s", e.Path, about, e.Detail)
}
