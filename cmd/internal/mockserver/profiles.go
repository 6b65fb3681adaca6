package mockserver

import "slices"

// A Profile is a set of quirks that occur together.
type Profile struct {
	// Name is what it is called on the command line, Title whose habits they are.
	Name, Title string
	// Quirks are settings as quirks.Parse reads them.
	Quirks []string
}

// Profiles lists the profiles. Those of products have the quirks that the table of package quirks knows to be theirs, no more.
func Profiles() []Profile {
	return []Profile{
		{"aws", "AWS IAM Identity Center", []string{"patch-members=100", "patch-needs-path", "no-members-replace", "members-hidden"}},
		{"entra", "Microsoft Entra ID as a server", []string{"no-put", "patch-204", "lower-case-resources"}},
		{"gitlab", "GitLab", []string{"no-put"}},
		{"google", "Google Cloud Identity", []string{"no-put", "no-etag"}},
		{"vcenter", "VMware vCenter", []string{"no-patch", "partial-answers"}},
		{"workos", "WorkOS", []string{"unknown-members-dropped"}},
		{"flaky", "a server behind an unreliable network",
			[]string{"rate-limit=1,p=0.1", "error=503,p=0.1", "error-after=500,p=0.05", "drop-after,p=0.05"}},
	}
}

// ProfileNamed returns the profile of that name.
func ProfileNamed(name string) (Profile, bool) {
	i := slices.IndexFunc(Profiles(), func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return Profiles()[i], true
}
