// Package statements lists what the management documents A, B and C demand, one fact per statement, each with an id of this module.
//
// A test proves statements by naming them in its doc comment, in a sentence such as "Proves A-hooks-12, A-hooks-13." The comment needs no
// import and follows the test wherever it is moved. [Check] reports statements without a test, and comments that name what does not exist;
// [Page] writes docs/generated/management-requirements.md. An id never changes its meaning: a statement that no longer holds is removed with its id.
package statements
