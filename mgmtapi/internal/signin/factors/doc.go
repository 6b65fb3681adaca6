// Package factors serves the factors of users: what they have or know beside the password, from the enrollment to the removal, with
// real codes, throttles and expiry, and which kinds of factors the organization allows.
//
// What one kind of factors does is said in one file, by one value of type kind; the table kinds lists them. Everything that all kinds
// share, as duplicates, throttles, statuses, links and the log, is in the operations. The package knows no sign-in: whoever asks for
// a verification may do so.
package factors
