// Package enginetest helps to test the engine and programs that embed it. It has a fake SCIM target with configurable faults, and a
// directory in memory.
//
// The target is not a complete SCIM server: it stores everything in memory, validates little and records what the engine sends. Do not use
// this package in production.
package enginetest
