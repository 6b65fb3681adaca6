// Package errtext formats errors of this module for administrators.
package errtext

import (
	"regexp"
	"strings"
)

// packages lists the packages whose errors start with the package name. The name is for embedders and the log; Plain removes it for
// administrators.
var packages = []string{
	"apps", "client", "connect", "console", "control", "desired", "desiredapi", "docstore", "engine", "enginetest", "fido",
	"heartbeat", "hooks", "jobs", "lane", "mgmtapi", "otp", "outbox", "plan", "probe", "pull", "rest", "riverjobs", "sandboxport",
	"scimserver", "scimstore", "seal", "signature", "signkey", "softkey", "sqldb", "sqlopen", "sqlstore", "tenants", "u2f",
	"webhooks", "webhooksapi", "yubikey",
}

var prefix = regexp.MustCompile(`(^|: |\n)(?:(?:` + strings.Join(packages, "|") + `): )+`)

// Plain returns the text of an error without the names of the packages that created or wrapped it.
func Plain(err error) string { return prefix.ReplaceAllString(err.Error(), "$1") }
