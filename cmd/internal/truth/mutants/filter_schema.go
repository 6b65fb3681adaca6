package mutants

import "regexp"

// subOwn returns a wrapper that replaces the matches of a pattern in filters on any resource type.
func subOwn(pattern, replacement string) wrap {
	re := regexp.MustCompile(pattern)
	return filtering(either(listDevices, listUsers), func(f string) string { return re.ReplaceAllString(f, replacement) })
}

var filterSchema = []Mutant{
	{"filter.integer-eq-text", "eq on integers acts as co", subOwn(`(\S+) eq 1\b`, `($1 eq 10 or $1 eq 1)`)},
	{"filter.integer-ne-always", "ne on integers is always true", subOwn(`\S+ ne 10\b`, `id pr`)},
	{"filter.integer-as-text", "integers are compared as strings", subOwn(`(\S+) (gt|ge) (9|10)\b`, `$1 $2 99`)},
	{"filter.integer-gt-is-ge", "gt on integers acts as ge", subOwn(` gt (\d+)$`, ` ge $1`)},
	{"filter.integer-lt-is-le", "lt on integers acts as le", subOwn(` lt (\d+)$`, ` le $1`)},
	{"filter.integer-absent", "pr on integers is never true", subOwn(`(ports|floors|months)(\)?) pr`, `nothing$2 pr`)},
	{"filter.decimal-text", "decimals are compared as strings", subOwn(` eq 10\.250$`, ` eq 99`)},
	{"filter.decimal-rounded", "decimals are rounded before the comparison", subOwn(` eq 2$`, ` eq 2.5`)},
	{"filter.decimal-unsigned", "negative decimals are compared by their absolute value", subOwn(` (ge|le|gt|lt) (-1\.5|2\.5)$`, ` $1 99`)},
	{"filter.date-time-own-text", "dateTimes written by clients are compared as strings", subOwn(`("2026-[^"]*)[+-]0\d:00"`, `${1}Z"`)},
	{"filter.own-case-folded", "an attribute with caseExact true is compared case-insensitively",
		subOwn(`\bcode (eq|sw|ew) "([^"]*)"`, `(code $1 "$2" or code sw "Scimconf-")`)},
	{"filter.own-case-exact", "all values are compared case-sensitively", subOwn(`"SCIMCONF-OWN-A"|"-b"`, `"?"`)},
	{"filter.plain-list-first", "only the first string of a multi-valued attribute is compared",
		subOwn(`(\w+) eq "scimconf-2"`, `($1 eq "scimconf-2" and not ($1 eq "scimconf-1"))`)},
	{"filter.plain-list-part", "eq on a multi-valued string acts as co", subOwn(`(\w+) eq "scimconf"`, `$1 co "scimconf"`)},
	{"filter.binary-folded", "binary values are compared case-insensitively", subOwn(`eq "aaec"`, `eq "AAEC"`)},
}
