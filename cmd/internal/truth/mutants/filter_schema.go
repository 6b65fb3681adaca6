package mutants

import "regexp"

// subOwn replaces what a pattern matches in filters on any type.
func subOwn(pattern, replacement string) wrap {
	re := regexp.MustCompile(pattern)
	return filtering(either(listDevices, listUsers), func(f string) string { return re.ReplaceAllString(f, replacement) })
}

var filterSchema = []Mutant{
	{"filter.integer-eq-text", "eq on integers looks for a part of the number", subOwn(`(\S+) eq 1\b`, `($1 eq 10 or $1 eq 1)`)},
	{"filter.integer-ne-always", "ne on integers is always true", subOwn(`\S+ ne 10\b`, `id pr`)},
	{"filter.integer-as-text", "integers are compared as texts", subOwn(`(\S+) (gt|ge) (9|10)\b`, `$1 $2 99`)},
	{"filter.integer-gt-is-ge", "gt on integers acts as ge", subOwn(` gt (\d+)$`, ` ge $1`)},
	{"filter.integer-lt-is-le", "lt on integers acts as le", subOwn(` lt (\d+)$`, ` le $1`)},
	{"filter.integer-absent", "integers are never present", subOwn(`(ports|floors|months)(\)?) pr`, `nothing$2 pr`)},
	{"filter.decimal-text", "decimals are compared as they are written", subOwn(` eq 10\.250$`, ` eq 99`)},
	{"filter.decimal-rounded", "decimals are rounded", subOwn(` eq 2$`, ` eq 2.5`)},
	{"filter.decimal-unsigned", "negative decimals are compared by their amount", subOwn(` (ge|le|gt|lt) (-1\.5|2\.5)$`, ` $1 99`)},
	{"filter.date-time-own-text", "dateTimes that clients write are compared as texts", subOwn(`("2026-[^"]*)[+-]0\d:00"`, `${1}Z"`)},
	{"filter.own-case-folded", "caseExact of the schema is disregarded",
		subOwn(`\bcode (eq|sw|ew) "([^"]*)"`, `(code $1 "$2" or code sw "Scimconf-")`)},
	{"filter.own-case-exact", "everything is compared with regard to case", subOwn(`"SCIMCONF-OWN-A"|"-b"`, `"?"`)},
	{"filter.plain-list-first", "only the first text of a list counts",
		subOwn(`(\w+) eq "scimconf-2"`, `($1 eq "scimconf-2" and not ($1 eq "scimconf-1"))`)},
	{"filter.plain-list-part", "eq on a list of texts looks for a part", subOwn(`(\w+) eq "scimconf"`, `$1 co "scimconf"`)},
	{"filter.binary-folded", "binary values are compared without regard to case", subOwn(`eq "aaec"`, `eq "AAEC"`)},
}
