// Package statements lists the requirements of the management documents A, B and C, one fact per statement, each with an id of this module.
//
// A test proves statements by naming them in its doc comment, in a sentence such as "Proves A-hooks-12, A-hooks-13." The comment needs no
// import and moves with the test. [Check] reports statements without a test, and comments that name unknown statements; [Page] writes
// docs/generated/management-requirements.md. An id never changes its meaning: a statement that no longer holds is removed with its id.
package statements
