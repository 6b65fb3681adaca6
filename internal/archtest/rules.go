package archtest

// Module is the import path all rules are relative to.
const Module = "github.com/scimwright/scimwright"

// Rule says which packages of the module the packages under Package may import. The first rule whose
// Package matches decides; paths ending in "/..." match the package and everything below it.
type Rule struct {
	Package string
	May     []string
	// Tests lists what the test files of the package may import beyond May.
	Tests []string
	// StdlibOnly forbids every third-party import outside test files, but for those in Besides.
	StdlibOnly bool
	Besides    []string
	Why        string
}

// testDatabases is what a test needs to run on throw-away databases.
var testDatabases = []string{"internal/enginestore", "internal/sqldb", "internal/sqldb/sqldbtest"}

// everyTest lists what the tests of any package may import.
var everyTest = []string{"internal/alltest", "internal/goldentest", "internal/storedtest"}

// Rules is the house: who may import whom.
var Rules = []Rule{
	{Package: "scim/...", May: []string{"scim/..."}, StdlibOnly: true, Besides: []string{"golang.org/x/text/..."},
		Why: "the protocol leaf stands below everything and must be usable alone; the tables of Unicode and of languages are what the " +
			"standard library lacks"},
	{Package: "fixtures", Why: "fixtures are data; a leaf that anyone may read"},
	{Package: "internal/expression", Why: "mappings, rules, templates and claims share one language, which knows none of them"},
	{Package: "internal/egress", Why: "which addresses may be connected to is the same for everyone who connects"},
	{Package: "internal/seal", StdlibOnly: true,
		Why: "the management API and the sandbox encrypt secrets at rest in the same way, and the cipher does not depend on what it encrypts"},
	{Package: "internal/errtext", Why: "how an error is worded for administrators does not depend on whose it is"},
	{Package: "internal/rest", May: []string{"scim"}, Tests: []string{"internal/docstore"},
		Why: "an operation table serves the management API and the engine's control API; it knows neither of them, and no store"},
	{Package: "internal/sandboxport", May: []string{"internal/docstore", "internal/rest"},
		Why: "the management API shows the sandbox, and the sandbox implements what it shows; neither imports the packages of the other"},
	{Package: "internal/alltest/...", May: []string{"internal/alltest"}, Why: "which tests a run includes does not depend on what they test"},
	{Package: "internal/sqldb/sqldbtest", May: []string{"internal/sqldb/...", "internal/alltest"},
		Why: "throw-away databases know only the database layer"},
	{Package: "internal/sqldb/...", May: []string{"internal/sqldb"}, Tests: []string{"internal/sqldb/..."},
		Why: "the database layer knows nothing of what is stored"},
	{Package: "internal/enginestore", May: []string{"engine", "engine/sqlstore", "internal/sqldb"},
		Why: "it hands the engine's store to the writer of a database"},
	{Package: "internal/docstore/...", May: []string{"internal/docstore", "internal/sqldb", "scim", "scim/filter", "scim/schema"},
		Tests: append([]string{"internal/docstore/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "documents are stored without knowing whose they are; filters are the one language they share"},

	{Package: "engine", May: []string{"scim/...", "internal/wirelog"},
		Why: "the words of the engine stand below all that works with them"},
	{Package: "engine/store", May: []string{"engine"}, StdlibOnly: true,
		Why: "the interfaces of a store, and the types that only stores need, depend on no store and no part of the machine"},
	{Package: "engine/sqlstore", May: []string{"engine", "engine/internal/plan", "engine/store", "internal/sqldb", "scim"},
		Tests: append([]string{"engine/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the only part of the engine that speaks SQL"},
	{Package: "engine/internal/directory", May: []string{"engine", "engine/store"}, Tests: []string{"engine/enginetest"}, StdlibOnly: true,
		Why: "the desired state is read without a target and without calling a store"},
	{Package: "engine/internal/principal", May: []string{"engine"}, StdlibOnly: true,
		Why: "what every room shows of a principal does not depend on any of them"},
	{Package: "engine/internal/drift", May: []string{"engine", "engine/internal/plan", "scim"}, StdlibOnly: true,
		Why: "what is compared with what is decided without a target, a store or a clock"},
	{Package: "engine/internal/rehearse", May: []string{"engine", "engine/internal/plan", "scim/..."},
		Tests: []string{"engine/internal/connect", "engine/enginetest"},
		Why:   "what is rehearsed cannot reach a target, a store or a lane by any other way than the reads that it is given"},
	{Package: "engine/internal/plan", May: []string{"engine", "scim/...", "internal/errtext"}, Tests: []string{"engine/..."},
		Why: "what is sent next is decided without a target, a store or a clock"},
	{Package: "engine/internal/connect", May: []string{"engine", "engine/internal/plan", "internal/egress", "scim/..."},
		Tests: []string{"engine/..."},
		Why:   "requests are sent without knowing why"},
	{Package: "engine/internal/lane", May: []string{"engine", "engine/store"}, Tests: append([]string{"engine/..."}, testDatabases...),
		Why: "leases, loop and backoff are the same whatever is worked on"},
	{Package: "engine/internal/probe", May: []string{"engine", "engine/internal/plan", "scim/..."}, Tests: []string{"engine/..."},
		Why: "a target is tried with a client that the caller gives"},
	{Package: "engine/internal/target",
		May: []string{"engine", "engine/internal/connect", "engine/internal/lane", "engine/internal/plan", "scim/wirelog"},
		Why: "a connection, its windows and its turns do not depend on what is sent"},
	{Package: "engine/internal/sequence", May: []string{
		"engine", "engine/store", "engine/internal/connect", "engine/internal/directory", "engine/internal/lane", "engine/internal/plan",
		"engine/internal/principal",
		"engine/internal/target", "internal/errtext", "scim", "scim/wirelog",
	}, Tests: []string{"engine/enginetest"},
		Why: "one sequence of one principal reaches the store by its own interface, and knows neither the lane that it is part of nor that it " +
			"is a dry run"},
	{Package: "engine/internal/applane", May: []string{
		"engine", "engine/store", "engine/internal/directory", "engine/internal/lane", "engine/internal/principal", "engine/internal/sequence",
		"engine/internal/target",
		"scim/wirelog",
	}, Why: "which principal comes next is decided without knowing what is sent for it"},
	{Package: "engine/internal/trace", May: []string{"engine", "engine/store", "engine/internal/plan", "engine/internal/rehearse", "scim/..."},
		Why: "what was or would be written is described without calling a store or a target"},
	{Package: "engine/internal/dryrun", May: []string{
		"engine", "engine/store", "engine/internal/connect", "engine/internal/directory", "engine/internal/lane", "engine/internal/plan",
		"engine/internal/principal",
		"engine/internal/rehearse", "engine/internal/sequence", "engine/internal/target", "engine/internal/trace", "scim/wirelog",
	}, Tests: append([]string{"engine/..."}, testDatabases...),
		Why: "a dry run is a sequence with another ledger and another line"},
	{Package: "engine/internal/listing",
		May: []string{"engine", "engine/internal/connect", "engine/internal/lane", "engine/internal/plan", "engine/internal/target", "scim"},
		Why: "a list is read without knowing what it is read for"},
	{Package: "engine/internal/imports", May: []string{
		"engine", "engine/store", "engine/internal/drift", "engine/internal/lane", "engine/internal/listing", "engine/internal/plan",
		"internal/errtext", "scim",
	}, Why: "an import reads a target and never works on a principal"},
	{Package: "engine/internal/reconcile", May: []string{
		"engine", "engine/store", "engine/internal/directory", "engine/internal/drift", "engine/internal/listing", "engine/internal/plan",
		"engine/internal/principal",
		"engine/internal/trace", "scim",
	}, Why: "a comparison marks principals, and leaves their sequences to the lane"},
	{Package: "engine/internal/plans", May: []string{
		"engine", "engine/store", "engine/internal/connect", "engine/internal/directory", "engine/internal/dryrun", "engine/internal/lane",
		"engine/internal/principal",
		"engine/internal/sequence",
	}, Why: "a plan is made of dry runs, and applied by marks"},
	{Package: "engine/internal/watch", May: []string{"engine", "engine/internal/principal"}, StdlibOnly: true,
		Why: "what is not done is told without a target"},
	{Package: "engine/internal/explain", May: []string{
		"engine", "engine/store", "engine/internal/directory", "engine/internal/principal", "engine/internal/target", "engine/internal/trace",
	}, Why: "an explanation reads the store and the directory only"},
	{Package: "engine/metrics", May: []string{"engine"},
		Tests: append([]string{"engine/...", "scim/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "it listens to the engine, so that embedders who count in another way need no metrics library"},
	{Package: "engine/control/client", May: []string{"engine"}, Tests: []string{"engine/..."}, StdlibOnly: true,
		Why: "a program that operates an engine elsewhere carries neither the machine nor the operation table"},
	{Package: "engine/control",
		May:   []string{"engine", "engine/control/client", "engine/provision", "internal/errtext", "internal/rest", "scim"},
		Tests: append([]string{"engine/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the engine over HTTP: it operates an engine by its methods, for any host"},
	{Package: "engine/...", May: []string{"engine/...", "scim/...", "internal/expression", "internal/egress", "internal/errtext"},
		Tests: append([]string{"internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the engine is embedded by identity providers that have no mgmtapi, no scimserver and no docstore"},

	{Package: "internal/scimstore", May: []string{"internal/docstore/...", "scim/...", "scimserver"},
		Why: "resources are documents here; who opens the database is the caller's matter"},
	{Package: "scimserver/sqlstore", May: []string{"scimserver", "scim/...", "internal/docstore", "internal/scimstore", "internal/sqldb"},
		Tests: append([]string{"scimserver/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the only part of the server that knows a database"},
	{Package: "scimserver/...", May: []string{"scimserver/...", "scim/..."},
		Tests: append([]string{"internal/docstore", "internal/scimstore", "internal/sqldb/sqlopen", "fixtures"}, testDatabases...),
		Why:   "the reference server is embedded over any store and must not know who provisions into it"},

	{Package: "conformance/...", May: []string{"conformance/...", "scim", "scim/schema", "scim/wirelog"},
		Why: "what a check expects is written out or computed by the suite itself; sharing filter or patch code with a server would hide a " +
			"bug on both sides"},

	{Package: "mgmtapi", May: []string{
		"mgmtapi/...", "scim", "internal/docstore", "internal/sqldb", "internal/egress", "internal/rest", "internal/seal",
	},
		Tests: append([]string{"internal/sandboxport", "internal/sqldb/sqlopen", "fixtures"}, testDatabases...),
		Why: "the face of the management API opens the embedder's database and translates between its own types and those of the " +
			"packages below"},
	{Package: "mgmtapi/...",
		May: []string{"mgmtapi/...", "scim", "scim/filter", "scim/schema", "internal/docstore/...", "internal/expression", "internal/egress",
			"internal/rest", "internal/sandboxport", "internal/seal", "scim/wirelog"},
		Tests: append([]string{"internal/hookstest", "internal/sqldb/sqlopen", "fixtures"}, testDatabases...),
		Why:   "the management API records what is wanted; it neither provisions nor serves SCIM"},

	{Package: "cmd/internal/console", May: []string{"conformance/report", "scim/wirelog"},
		Why: "the console shows what interfaces of its own give it"},
	{Package: "internal/hookstest", Why: "an endpoint of hooks answers what its test sets; it depends neither on the API nor on the sandbox"},
	{Package: "internal/storedtest", StdlibOnly: true, Why: "stored forms are compared without knowing whose they are"},
	{Package: "internal/goldentest", Why: "generated texts are compared without knowing what they are about"},
	{Package: "internal/gofiles", StdlibOnly: true, Why: "files are found without knowing what they are checked for"},
	{Package: "internal/archtest", May: []string{"internal/gofiles"}, Why: "the rules know names, not packages"},
	{Package: "internal/statements", May: []string{"internal/gofiles"}, StdlibOnly: true,
		Why: "statements are bound to tests by comments, so that no package has to import another"},
	{Package: "cmd/internal/mockserver", May: []string{"conformance/...", "scim", "scimserver/..."},
		Why: "a server to grade clients with: what is expected comes from the suite, what answers is the reference server"},
	{Package: "cmd/internal/truth/mutants", May: []string{"scim"},
		Why: "a mutant breaks any server that is right, and does not depend on the checks that have to notice it"},
	{Package: "cmd/internal/truth", Tests: []string{
		"cmd/internal/cli/conform", "cmd/internal/truth/mutants", "conformance/...", "internal/docstore", "internal/scimstore",
		"internal/sqldb/sqldbtest", "scim/...", "scimserver/...",
	}, Why: "the suite is put on trial with the reference server alone"},
	{Package: "cmd/internal/sandbox/...", May: []string{
		"cmd/internal/...", "conformance/...", "engine/...", "fixtures", "internal/...", "mgmtapi", "scim/...", "scimserver/...",
	}, Tests: []string{"mgmtapi/mgmtapitest"},
		Why: "the composition root imports everything, but of the management API only what embedders import, and the port of the sandbox"},
	{Package: "cmd/internal/cli/frame", Why: "what both command lines share: parsing, help and exit codes"},
	{Package: "cmd/internal/cli/conform",
		May: []string{"conformance/...", "scim/wirelog", "cmd/internal/cli/frame", "cmd/internal/mockserver", "scimserver/quirks"},
		Why: "the conformance commands alone are a small static binary, without a database"},
	{Package: "cmd/internal/cli/...", May: []string{
		"cmd/internal/cli/...", "internal/errtext", "cmd/internal/sandbox/...", "engine", "engine/control/client", "scim/lenient",
		"scimserver/...",
		"mgmtapi", "internal/docstore", "internal/rest", "internal/sqldb/...",
	}, Why: "command groups start things; they hold no logic of their own"},
	{Package: "cmd/scim-conformance", May: []string{"cmd/internal/cli/conform"}, Why: "static, without cgo"},
	{Package: "cmd/scimwright", May: []string{"cmd/internal/cli/...", "cmd/internal/sandbox"}, Why: "a main reads its arguments and exits"},
}

// Confined lists imports that only the named packages may have outside test files.
var Confined = []struct {
	Import string
	To     []string
	Why    string
}{
	{"github.com/mattn/go-sqlite3", []string{"internal/sqldb/sqlopen"},
		"drivers and cgo stay in one place, so that everything else builds without them"},
	{"github.com/jackc/pgx/v5/stdlib", []string{"internal/sqldb/sqlopen"}, "drivers stay in one place"},
	{"internal/sqldb/sqlopen", []string{"cmd/internal/sandbox/...", "cmd/internal/cli/...", "cmd/scimwright", "internal/sqldb/sqldbtest"},
		"only mains, the composition root and test helpers open databases"},
	{"mgmtapi/internal/assembly", []string{"mgmtapi", "mgmtapi/internal/apitest/..."}, "the management API is opened by mgmtapi.Open"},
	{"go.yaml.in/yaml/v3", nil, "YAML is read by github.com/goccy/go-yaml everywhere, so that files are read alike"},
	{"gopkg.in/yaml.v3", nil, "YAML is read by github.com/goccy/go-yaml everywhere, so that files are read alike"},
	{"testing", []string{"*test"}, "test support lives in packages whose names end in test"},
}
