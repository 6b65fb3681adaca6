package desired

import (
	"errors"
	"fmt"
	"strings"
)

// StaleError is returned for a write with an older version than the stored one. The write has changed nothing.
type StaleError struct{ Current int64 }

// Error returns a message with the stored version.
func (e *StaleError) Error() string {
	return fmt.Sprintf("desired: the version is older than the stored version %d", e.Current)
}

// ContentError is returned for a write with the stored version and other content. The write has changed nothing.
type ContentError struct{ Version int64 }

// Error returns a message with the version.
func (e *ContentError) Error() string {
	return fmt.Sprintf("desired: version %d is stored with other content: use a higher version", e.Version)
}

// GapError is returned for a MemberDelta whose Base is not the stored version of the members, for example because a delta is missing. The
// write has changed nothing. Write the missing deltas first, or all members with PutMembers.
type GapError struct{ Base, Current int64 }

// Error returns a message with both versions.
func (e *GapError) Error() string {
	return fmt.Sprintf("desired: the change is based on version %d, but version %d is stored: write the missing changes, or all members",
		e.Base, e.Current)
}

// InputError is returned for an invalid value.
type InputError struct {
	Member  string // name in JSON, empty if the error concerns the whole object
	Problem string
}

// Error returns a message with the member.
func (e *InputError) Error() string {
	if e.Member == "" {
		return "desired: " + e.Problem
	}
	return "desired: " + e.Member + ": " + e.Problem
}

// shortened shortens an *InputError to MaxText bytes for each text: names and values in a line may be as long as the line.
func shortened(err error) error {
	input, ok := errors.AsType[*InputError](err)
	if !ok {
		return err
	}
	short := func(text string) string {
		if len(text) <= MaxText {
			return text
		}
		return strings.ToValidUTF8(text[:MaxText], "") + "..."
	}
	return &InputError{short(input.Member), short(input.Problem)}
}

var (
	// ErrNoSeal is returned for a write with a secret if Options.Seal is not set.
	ErrNoSeal = errors.New("desired: Options.Seal is required to store secrets")
	// ErrSecrets is returned for a write with a secret if the context is of WithoutSecrets.
	ErrSecrets = errors.New("desired: the caller may not write credentials and passwords")
	// ErrNotAttached is returned for a write before Attach.
	ErrNotAttached = errors.New("desired: no engine: call Store.Attach first")
	// ErrPulled is returned for a write or read of stored users, groups or members of an app with Pull.
	ErrPulled = errors.New("desired: the app has pull: its identity provider is queried for users, groups and members, which are not " +
		"stored: report their changes by marks")
	// ErrPullEnd is returned for a write that removes Pull from an app.
	ErrPullEnd = errors.New("desired: pull cannot be removed from an app, because users who were not written would be deactivated: delete " +
		"the app, which changes no account, and write it again")
	// ErrSnapshot is returned if the state of a snapshot does not allow the operation, for example because a later snapshot has replaced it.
	ErrSnapshot = errors.New("desired: the state of the snapshot does not allow this operation")
)
