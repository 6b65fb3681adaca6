// Package enginetest helps to test the engine and what embeds it: a fake SCIM target that can be told to fail, and a directory
// in memory.
//
// The target is no SCIM server for anything else: it keeps everything in memory, checks little, and exists to see what the
// engine sends. Nothing here is fit for production.
package enginetest
