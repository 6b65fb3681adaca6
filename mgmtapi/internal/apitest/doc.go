// Package apitest runs scenarios against a management API on a real server: tables of requests with the expected content of their
// responses. Every response is checked against the generated OpenAPI document, so that the document and the API always match.
//
// The record of which operations succeeded in which tests is stored with the tests, see Main, and shown in docs/generated/operations.md.
//
// The package is for tests only.
package apitest
