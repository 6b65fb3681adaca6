package archtest

import (
	"slices"
	"strings"
)

// Room is a group of packages below mgmtapi/internal. A slice is a package that serves operations: no slice imports another slice. A slice
// that needs data or a function of another slice uses the stored types, a package that the room shares, or a function that
// mgmtapi/internal/assembly passes to the slice.
type Room struct {
	Name string
	// Shared lists the packages of the room that its other packages may import.
	Shared []string
	// Foundation reports whether packages of the rooms that follow this room in Rooms may import the packages of this room.
	Foundation bool
}

const roomsRoot = "mgmtapi/internal/"

// Rooms lists the rooms in the order of their imports: a package may import every package of the foundations that precede its room in the
// list, and the shared packages of its own room.
var Rooms = []Room{
	{Name: "core", Foundation: true, Shared: []string{
		"appprofile", "audit", "catalog", "lookup", "model", "outbox", "password", "search", "signkey", "yubikey",
	}},
	{Name: "hooks", Foundation: true, Shared: []string{"calls"}},
	{Name: "tokens", Foundation: true},
	{Name: "access", Foundation: true, Shared: []string{"authz", "callers"}},
	{Name: "directory"},
	{Name: "signin", Shared: []string{"fido", "mfa", "otp"}},
	{Name: "oauth"},
	{Name: "apps", Shared: []string{"desired"}},
	{Name: "log"},
}

// roomOf returns the index of the room of a package, and the name of the package in it. The index is -1 outside the rooms: assembly, the
// sandbox's slice and the test packages may import any package of a room.
func roomOf(pkg string) (index int, name string) {
	below, ok := strings.CutPrefix(pkg, roomsRoot)
	if !ok {
		return -1, ""
	}
	room, name, _ := strings.Cut(below, "/")
	name, _, _ = strings.Cut(name, "/")
	return slices.IndexFunc(Rooms, func(r Room) bool { return r.Name == room }), name
}

// roomMayImport reports whether the rooms permit one package of the module to import another. Tests may import all of their room.
func roomMayImport(from, to string, test bool) bool {
	a, fromName := roomOf(from)
	b, toName := roomOf(to)
	switch {
	case a < 0 || b < 0:
		return true
	case a == b:
		return test || fromName == toName || slices.Contains(Rooms[b].Shared, toName)
	default:
		return b < a && Rooms[b].Foundation
	}
}
