package mockserver

import "slices"

// A Profile is a set of quirks that occur together.
type Profile struct {
	// Name is the name on the command line. Title is the product or situation that the profile imitates.
	Name, Title string
	// Quirks are settings in the form of quirks.Parse.
	Quirks []string
}

// Profiles returns the profiles. The profile of a product has exactly the quirks that the table of package quirks lists for the product.
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

// ProfileNamed returns the profile with the name.
func ProfileNamed(name string) (Profile, bool) {
	i := slices.IndexFunc(Profiles(), func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return Profiles()[i], true
}
