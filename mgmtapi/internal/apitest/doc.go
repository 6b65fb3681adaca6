// Package apitest runs scenarios against a management API on a real server: tables of requests with what their answers must
// hold. Every answer is checked against the OpenAPI document that the API generates of itself, so that neither can drift.
//
// Which operations succeeded in which tests is kept beside the tests, see Main, and shown in docs/generated/operations.md.
//
// It is for tests only.
package apitest
