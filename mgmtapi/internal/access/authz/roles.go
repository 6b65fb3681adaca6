package authz

import "github.com/scimwright/scimwright/mgmtapi/internal/core/model"

// Column is a column of the table of standard roles.
type Column int

// The columns. ColumnSuper is for operations reserved for SUPER_ADMIN, ColumnAny for operations permitted to every role.
const (
	ColumnUsers Column = iota
	ColumnCredentials
	ColumnGroups
	ColumnMembership
	ColumnApps
	ColumnServers
	ColumnRoles
	ColumnHooks
	ColumnSchemas
	ColumnLog
	columns

	ColumnSuper
	ColumnAny
)

var columnNames = map[Column]string{
	ColumnUsers: "users", ColumnCredentials: "credentials, lifecycle and factors of users", ColumnGroups: "groups",
	ColumnMembership: "membership",
	ColumnApps:       "applications and assignments", ColumnServers: "authorization servers", ColumnRoles: "roles and resource sets",
	ColumnHooks: "hooks and keys", ColumnSchemas: "schemas, types, mappings and policies", ColumnLog: "the log",
	ColumnSuper: "operations reserved for SUPER_ADMIN", ColumnAny: "operations permitted to every administrator",
}

// cell is the access of a standard role to a column.
type cell byte

const (
	nothing   cell = '-'
	reads     cell = 'R'
	writes    cell = 'W' // runs all operations
	helpsOut  cell = 'H' // runs the operations that a help desk performs, and reads their resources
	writesOpt cell = 'O' // reads all resources, but changes only OAuth clients
)

// standard is the table of standard roles. Each letter is the cell of one column, in this order:
//
//	users, credentials, groups, membership, apps, servers, roles, hooks, schemas, log
var standard = map[model.RoleType][columns]cell{
	model.RoleSuperAdmin:      row("WWWWWWWWWR"),
	model.RoleOrgAdmin:        row("WWWWRRRWWR"),
	model.RoleUserAdmin:       row("WWRWR---RR"),
	model.RoleHelpDesk:        row("RHR-R----R"),
	model.RoleMembershipAdmin: row("R-RW------"),
	model.RoleAppAdmin:        row("R-R-W---RR"),
	model.RoleAPIAccess:       row("R-R-OW---R"),
	model.RoleReadOnly:        row("R-R-RRRRRR"),
	model.RoleReport:          row("R-R-R----R"),
	model.RoleMobile:          row("R-R-R----R"),
	model.RoleCertifications:  row("R-R-R-----"),
	model.RoleRequests:        row("R-R-R-----"),
}

func row(text string) (cells [columns]cell) {
	for i := range cells {
		cells[i] = cell(text[i])
	}
	return cells
}

// meets reports whether a standard role has the access that the need requires, regardless of the targets of the assignment.
func (n *Need) meets(role model.RoleType, r *Resource) bool {
	switch {
	case role == model.RoleSuperAdmin || n.Column == ColumnAny:
		return true
	case n.Column == ColumnSuper:
		return false
	}
	switch standard[role][n.Column] {
	case writes:
		return true
	case reads:
		return !n.Write
	case helpsOut:
		return n.Help
	case writesOpt:
		return !n.Write || r.OAuth || n.free() // targets do not limit the need: another need of the operation is about the application
	default:
		return false
	}
}
