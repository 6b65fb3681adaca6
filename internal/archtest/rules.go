package archtest

// Module is the import path to which all rules are relative.
const Module = "github.com/scimwright/scimwright"

// Rule defines which packages of the module the packages under Package may import. The first rule whose
// Package matches applies; paths ending in "/..." match the package and everything below it.
type Rule struct {
	Package string
	May     []string
	// Tests lists what the test files of the package may import in addition to May.
	Tests []string
	// StdlibOnly forbids every third-party import outside test files, except those in Besides.
	StdlibOnly bool
	Besides    []string
	Why        string
}

// testDatabases lists the packages for tests on temporary databases.
var testDatabases = []string{"internal/enginestore", "internal/sqldb", "internal/sqldb/sqldbtest"}

// everyTest lists what the tests of any package may import.
var everyTest = []string{"internal/alltest", "internal/goldentest", "internal/storedtest"}

// Rules is the structure of the module: which package may import which.
var Rules = []Rule{
	{Package: "scim/...", May: []string{"scim/..."}, StdlibOnly: true, Besides: []string{"golang.org/x/text/..."},
		Why: "the protocol package is the lowest layer and must be usable alone; the standard library lacks the tables of Unicode and of " +
			"languages"},
	{Package: "fixtures", Why: "fixtures are data without dependencies, which any package may import"},
	{Package: "internal/expression", May: []string{"internal/similar"},
		Why: "mappings, rules, templates and claims share one language, which does not depend on them"},
	{Package: "internal/egress", Why: "all clients share one policy of allowed addresses"},
	{Package: "internal/seal", StdlibOnly: true,
		Why: "the management API and the sandbox encrypt secrets at rest in the same way, and the cipher does not depend on what it encrypts"},
	{Package: "internal/rawjson", StdlibOnly: true, Why: "stored JSON text is scanned without decoding it, by stores and by servers"},
	{Package: "internal/processor", StdlibOnly: true, Why: "the database layer, stores and servers divide the processors in the same way"},
	{Package: "internal/uuid", StdlibOnly: true, Why: "stores and the server create ids of the same form"},
	{Package: "internal/errtext", Why: "the formatting of errors does not depend on the package that returns them"},
	{Package: "internal/outage", StdlibOnly: true, Why: "servers recognize the error of a database without its driver or store"},
	{Package: "internal/docpages", StdlibOnly: true, Why: "the pages are run with the commands that they name, not with packages"},
	{Package: "internal/thirdparty", Why: "the list of modules comes from the go command, not from packages"},
	{Package: "internal/similar", StdlibOnly: true, Why: "the similarity of names does not depend on what they name"},
	{Package: "internal/counted", StdlibOnly: true, Why: "texts with numbers do not depend on what is counted"},
	{Package: "internal/openapi", StdlibOnly: true, Why: "the parts of an OpenAPI document do not depend on the API that one describes"},
	{Package: "internal/rest", May: []string{"internal/openapi", "internal/outage", "scim"}, Tests: []string{"internal/docstore"},
		Why: "the operation table serves the management API and the engine's control API; it depends on neither of them, and on no store"},
	{Package: "internal/sandboxport", May: []string{"internal/docstore", "internal/rest"},
		Why: "the sandbox implements the interfaces that the management API calls; neither imports the packages of the other"},
	{Package: "internal/alltest/...", May: []string{"internal/alltest"}, Why: "the selection of tests does not depend on the tested packages"},
	{Package: "internal/sqldb/sqldbtest", May: []string{"internal/sqldb/...", "internal/alltest"},
		Why: "temporary databases depend only on the database layer"},
	{Package: "internal/sqldb/rowcache", StdlibOnly: true,
		Why: "the cache proves by a state and by keys that rows are current; it depends neither on the database nor on the form of the rows"},
	{Package: "internal/sqldb/...", May: []string{"internal/processor", "internal/sqldb", "internal/sqldb/rowcache"},
		Tests: []string{"internal/sqldb/..."},
		Why:   "the database layer does not depend on the stored data"},
	{Package: "internal/enginestore", May: []string{"engine", "engine/sqlstore", "internal/sqldb"},
		Why: "the package connects the engine's store to the single writer of an internal/sqldb database"},
	{Package: "internal/docstore/...",
		May: []string{
			"internal/docstore", "internal/processor", "internal/sqldb", "internal/sqldb/rowcache", "internal/uuid", "scim", "scim/filter",
			"scim/schema",
		},
		Tests: append([]string{"internal/docstore/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "document storage does not depend on the packages that store documents; filters are the only shared language"},

	{Package: "engine", May: []string{"scim/...", "internal/wirelog"},
		Why: "the types of the engine are the lowest layer of its packages"},
	{Package: "engine/jobs", Tests: append([]string{"engine/...", "internal/enginestore", "internal/sqldb/sqlopen"}, testDatabases...),
		StdlibOnly: true, Why: "the interface of a scheduler and the built-in scheduler depend on no kind of jobs and on no database"},
	{Package: "engine/jobs/riverjobs", May: []string{"engine/jobs", "engine/internal/heartbeat", "engine/internal/pause"},
		Tests: append([]string{"engine/jobs/..."}, testDatabases...),
		Why:   "River is one implementation of the scheduler"},
	{Package: "engine/jobs/jobstest", May: []string{"engine/jobs"}, Why: "the tests of a scheduler depend on no scheduler"},
	{Package: "engine/store", May: []string{"engine", "engine/jobs"}, StdlibOnly: true,
		Why: "the interfaces of a store, and the types that only stores need, depend on no store and no component of the engine"},
	{Package: "engine/sqlstore", May: []string{"engine", "engine/internal/plan", "engine/jobs", "engine/store", "internal/sqldb", "scim"},
		Tests: append([]string{"engine/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the only part of the engine that uses SQL, except for engine/desired and engine/webhooks"},
	{Package: "engine/internal/directory", May: []string{"engine", "engine/store"}, Tests: []string{"engine/enginetest"}, StdlibOnly: true,
		Why: "the desired state is read without a target and without calling a store"},
	{Package: "engine/internal/principal", May: []string{"engine"}, StdlibOnly: true,
		Why: "the common representation of a principal does not depend on the components that show it"},
	{Package: "engine/internal/drift", May: []string{"engine", "engine/internal/plan", "scim"}, StdlibOnly: true,
		Why: "drift is computed without a target, a store or a clock"},
	{Package: "engine/internal/rehearse", May: []string{"engine", "engine/internal/plan", "scim/..."},
		Tests: []string{"engine/internal/connect", "engine/enginetest"},
		Why:   "a dry run accesses a target, a store or a lane only through the read functions that it receives"},
	{Package: "engine/internal/plan", May: []string{"engine", "scim/...", "internal/errtext"}, Tests: []string{"engine/..."},
		Why: "the next request is computed without a target, a store or a clock"},
	{Package: "engine/internal/spans", May: []string{"engine"}, Why: "spans depend neither on the work that they describe nor on an SDK"},
	{Package: "engine/internal/connect",
		May:   []string{"engine", "engine/internal/plan", "engine/internal/spans", "internal/egress", "scim/..."},
		Tests: []string{"engine/..."},
		Why:   "the client that sends requests does not depend on the reasons for them"},
	{Package: "engine/internal/pause", StdlibOnly: true, Why: "waits depend on nothing that is waited for"},
	{Package: "engine/internal/heartbeat", May: []string{"engine/internal/pause"},
		Why: "the validity of a process does not depend on the work that the process does"},
	{Package: "engine/internal/lane", May: []string{"engine", "engine/store", "engine/internal/pause"},
		Tests: append([]string{"engine/..."}, testDatabases...),
		Why:   "leases, loop and backoff do not depend on the work of a lane"},
	{Package: "engine/internal/probe", May: []string{"engine", "engine/internal/pause", "engine/internal/plan", "scim/..."},
		Tests: []string{"engine/..."},
		Why:   "a target is probed with the caller's client"},
	{Package: "engine/internal/target",
		May: []string{"engine", "engine/internal/connect", "engine/internal/lane", "engine/internal/plan", "scim/wirelog"},
		Why: "the connection to a target, its maintenance windows and its rate limit do not depend on the requests that are sent"},
	{Package: "engine/internal/sequence", May: []string{
		"engine", "engine/store", "engine/internal/connect", "engine/internal/directory", "engine/internal/lane", "engine/internal/plan",
		"engine/internal/principal",
		"engine/internal/target", "internal/errtext", "scim", "scim/wirelog",
	}, Tests: []string{"engine/enginetest"},
		Why: "one sequence of one principal uses the store through its own interface, and depends neither on its lane nor on whether it is a " +
			"dry run"},
	{Package: "engine/internal/applane", May: []string{
		"engine", "engine/store", "engine/internal/directory", "engine/internal/lane", "engine/internal/pause", "engine/internal/principal",
		"engine/internal/sequence", "engine/internal/spans", "engine/internal/target",
		"scim/wirelog",
	}, Why: "the choice of the next principal does not depend on the requests for it"},
	{Package: "engine/internal/trace", May: []string{"engine", "engine/store", "engine/internal/plan", "engine/internal/rehearse", "scim/..."},
		Why: "descriptions of writes are created without calling a store or a target"},
	{Package: "engine/internal/dryrun", May: []string{
		"engine", "engine/store", "engine/internal/connect", "engine/internal/directory", "engine/internal/lane", "engine/internal/plan",
		"engine/internal/principal",
		"engine/internal/rehearse", "engine/internal/sequence", "engine/internal/target", "engine/internal/trace", "scim/wirelog",
	}, Tests: append([]string{"engine/..."}, testDatabases...),
		Why: "a dry run is a sequence with another ledger and another connection"},
	{Package: "engine/internal/listing",
		May: []string{
			"engine", "engine/internal/connect", "engine/internal/lane", "engine/internal/pause", "engine/internal/plan",
			"engine/internal/target", "scim",
		},
		Why: "the reader of a target's list does not depend on what the list is read for, such as an import or a reconciliation"},
	{Package: "engine/internal/imports", May: []string{
		"engine", "engine/store", "engine/internal/drift", "engine/internal/lane", "engine/internal/listing", "engine/internal/plan",
		"engine/jobs", "internal/errtext", "scim",
	}, Why: "an import reads a target and never works on a principal"},
	{Package: "engine/internal/reconcile", May: []string{
		"engine", "engine/store", "engine/internal/directory", "engine/internal/drift", "engine/internal/listing", "engine/internal/plan",
		"engine/internal/principal",
		"engine/internal/trace", "scim",
	}, Why: "a reconciliation marks principals; the lane runs their sequences"},
	{Package: "engine/internal/plans", May: []string{
		"engine", "engine/store", "engine/internal/connect", "engine/internal/directory", "engine/internal/dryrun", "engine/internal/lane",
		"engine/internal/pause", "engine/internal/principal",
		"engine/internal/sequence",
	}, Why: "a plan is created by dry runs and applied by marks"},
	{Package: "engine/internal/watch", May: []string{"engine", "engine/internal/principal", "engine/jobs"}, StdlibOnly: true,
		Why: "unfinished work is reported without a target"},
	{Package: "engine/internal/explain", May: []string{
		"engine", "engine/store", "engine/internal/directory", "engine/internal/principal", "engine/internal/target", "engine/internal/trace",
	}, Why: "an explanation reads the store and the directory only"},
	{Package: "engine/metrics", May: []string{"engine"},
		Tests: append([]string{"engine/...", "scim/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the engine does not import its metrics, so that embedders with their own metrics need no metrics library"},
	{Package: "engine/control/client", May: []string{"engine"}, Tests: []string{"engine/..."}, StdlibOnly: true,
		Why: "a program that operates a remote engine contains neither the engine nor the operation table"},
	{Package: "engine/desired", May: []string{
		"engine", "engine/internal/drift", "engine/internal/signature", "engine/mapping", "engine/pull", "engine/sqlstore", "internal/egress",
		"internal/seal", "internal/sqldb", "scim",
	},
		Tests: append([]string{"engine/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why: "a directory of the engine in the database of its store: it takes the types of the database from engine/sqlstore, and calls the " +
			"engine by an interface of its own"},
	{Package: "engine/desired/desiredapi",
		May:   []string{"engine", "engine/desired", "engine/mapping", "internal/errtext", "internal/rest", "scim"},
		Tests: append([]string{"engine/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the desired state over HTTP: it only calls the methods of a store, so that any program can mount it"},
	{Package: "engine/internal/signature", StdlibOnly: true,
		Why: "the signature of a message depends neither on its content nor on its transport"},
	{Package: "engine/pull", May: []string{"engine", "engine/internal/signature", "engine/internal/spans", "internal/egress", "scim"},
		Tests: append([]string{"engine/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "a directory that queries another program depends on no store"},
	{Package: "engine/webhooks",
		May: []string{
			"engine", "engine/internal/pause", "engine/internal/signature", "engine/internal/spans", "engine/sqlstore", "internal/egress",
			"internal/sqldb",
		},
		Tests: append([]string{"engine/...", "scim", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "deliveries read the events of a store by an interface of their own, and have their own tables in the database of the store"},
	{Package: "engine/webhooks/webhooksapi",
		May:   []string{"engine", "engine/webhooks", "internal/errtext", "internal/rest"},
		Tests: append([]string{"engine/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "webhooks over HTTP: it calls the methods of a service, in any host program"},
	{Package: "engine/control",
		May: []string{"engine", "engine/control/client", "engine/jobs", "engine/provision", "internal/errtext", "internal/outage",
			"internal/rest", "scim"},
		Tests: append([]string{"engine/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the engine over HTTP: it calls the methods of an engine, in any host program"},
	{Package: "engine/...", May: []string{"engine/...", "scim/...", "internal/expression", "internal/egress", "internal/errtext"},
		Tests: append([]string{"internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the engine is embedded by identity providers that have no mgmtapi, no scimserver and no docstore"},

	{Package: "internal/scimstore", May: []string{"internal/docstore/...", "internal/rawjson", "scim/...", "scimserver"},
		Why: "the package stores SCIM resources as documents; the caller opens the database"},
	{Package: "scimserver/sqlstore", May: []string{"scimserver", "scim/...", "internal/docstore", "internal/scimstore", "internal/sqldb"},
		Tests: append([]string{"scimserver/...", "internal/sqldb/sqlopen"}, testDatabases...),
		Why:   "the only part of the server that depends on a database"},
	{Package: "scimserver/...",
		May: []string{
			"scimserver/...", "scim/...", "internal/outage", "internal/processor", "internal/rawjson", "internal/similar", "internal/uuid",
		},
		Tests: append([]string{"internal/docstore", "internal/scimstore", "internal/sqldb/sqlopen", "fixtures"}, testDatabases...),
		Why:   "the reference server is embedded with any store and must not depend on its clients"},

	{Package: "internal/look", StdlibOnly: true, Why: "the design of pages depends neither on the suite nor on the console"},
	{Package: "conformance/...", May: []string{"conformance/...", "scim", "scim/schema", "scim/wirelog", "internal/counted", "internal/look",
		"internal/similar"},
		Why: "expected results are literals or computed by the suite itself; sharing filter or patch code with a server would hide a bug on " +
			"both sides"},

	{Package: "mgmtapi", May: []string{
		"mgmtapi/...", "scim", "internal/docstore", "internal/sqldb", "internal/egress", "internal/rest", "internal/seal",
	},
		Tests: append([]string{"internal/sandboxport", "internal/sqldb/sqlopen", "fixtures"}, testDatabases...),
		Why: "the public package of the management API opens the embedder's database and converts between its own types and those of the " +
			"packages below"},
	{Package: "mgmtapi/...",
		May: []string{"mgmtapi/...", "scim", "scim/filter", "scim/schema", "internal/docstore/...", "internal/expression", "internal/egress",
			"internal/openapi", "internal/rest", "internal/sandboxport", "internal/seal", "scim/wirelog"},
		Tests: append([]string{"internal/hookstest", "internal/sqldb/sqlopen", "fixtures"}, testDatabases...),
		Why:   "the management API stores the desired state; it neither provisions nor serves SCIM"},

	{Package: "cmd/internal/console/tables", May: []string{"internal/sqldb"}, Why: "the tables of the console are opened in one place"},
	{Package: "cmd/internal/console/session", May: []string{"cmd/internal/console/tables", "internal/seal", "internal/sqldb"},
		Tests: testDatabases,
		Why:   "sessions depend neither on the pages nor on what the credentials give access to"},
	{Package: "cmd/internal/console/connect", May: []string{"cmd/internal/console", "engine", "engine/control/client", "internal/seal"},
		Why: "the page that connects apps calls the APIs of its host, and has no part of the server"},
	{Package: "cmd/internal/console/suite", May: []string{
		"cmd/internal/console", "cmd/internal/console/tables", "conformance/...", "engine", "engine/control/client", "internal/look",
		"internal/sqldb",
	}, Tests: append([]string{"scimserver/..."}, testDatabases...),
		Why: "the conformance pages run the suite and store its reports; the host passes the transport"},
	{Package: "cmd/internal/console/browsertest", StdlibOnly: true, Why: "the driver of a browser does not depend on the pages"},
	{Package: "cmd/internal/console/manage", May: []string{"cmd/internal/console", "engine", "engine/control/client", "internal/look"},
		Why: "the pages of the management API call its operations over HTTP in this process, so that the API decides about each of them"},
	{Package: "cmd/internal/console", May: []string{
		"cmd/internal/console/session", "engine", "engine/control", "engine/control/client", "engine/provision", "internal/look",
	}, Tests: append([]string{"engine/enginetest", "engine/sqlstore"}, testDatabases...),
		Why: "the console calls the control API like other clients, and reads all else through its own interfaces"},
	{Package: "internal/hookstest",
		Why: "a hook endpoint returns the response that its test sets; it depends neither on the API nor on the sandbox"},
	{Package: "internal/storedtest", StdlibOnly: true, Why: "the comparison of stored forms does not depend on the packages that store them"},
	{Package: "internal/goldentest", Why: "the comparison of generated texts does not depend on their content"},
	{Package: "internal/gofiles", StdlibOnly: true, Why: "the search for files does not depend on the checks of their content"},
	{Package: "internal/archtest", May: []string{"internal/gofiles"}, Why: "the rules contain names of packages and import none"},
	{Package: "internal/statements", May: []string{"internal/gofiles"}, StdlibOnly: true,
		Why: "statements are bound to tests by comments, so that no package has to import another"},
	{Package: "cmd/internal/bench", May: []string{"scim"}, Tests: []string{"scimserver/..."}, StdlibOnly: true,
		Why: "the load program measures any server, and shares no code with one"},
	{Package: "cmd/internal/doctor",
		May:   []string{"cmd/internal/daemon", "cmd/internal/scheme", "cmd/internal/serving", "internal/counted", "internal/sqldb/..."},
		Tests: testDatabases,
		Why:   "the checks use the parts that they check, and no command line"},
	{Package: "cmd/internal/scheme", StdlibOnly: true, Why: "all commands that send requests use it, whatever they test or operate"},
	{Package: "cmd/internal/mockserver", May: []string{"conformance/...", "scim", "scimserver/..."},
		Why: "a server that grades clients: the suite defines the expectations, the reference server responds"},
	{Package: "cmd/internal/truth/mutants", May: []string{"scim"},
		Why: "a mutant is a fault in any conformant server, and does not depend on the checks that must detect it"},
	{Package: "cmd/internal/truth", Tests: []string{
		"cmd/internal/cli/conform", "cmd/internal/truth/mutants", "conformance/...", "internal/docstore", "internal/scimstore",
		"internal/sqldb/sqldbtest", "scim/...", "scimserver/...",
	}, Why: "the suite is tested with the reference server only"},
	{Package: "cmd/internal/serving", May: []string{
		"engine/jobs/...", "engine/sqlstore", "internal/seal", "internal/sqldb/...", "scimserver/...",
	}, Why: "the parts that long-running programs share do not depend on these programs"},
	{Package: "cmd/internal/daemon", May: []string{
		"cmd/internal/console/...", "cmd/internal/serving", "engine/...", "internal/counted", "internal/egress",
		"internal/enginestore", "internal/rest", "internal/similar", "internal/sqldb/...",
	}, Tests: []string{"cmd/internal/cli", "internal/sqldb/sqldbtest"},
		Why: "the engine as a service has no management API and no SCIM server"},
	{Package: "cmd/internal/sandbox/...", May: []string{
		"cmd/internal/...", "conformance/...", "engine/...", "fixtures", "internal/...", "mgmtapi", "scim/...", "scimserver/...",
	}, Tests: []string{"mgmtapi/mgmtapitest"},
		Why: "the composition root imports everything, but of the management API only what embedders import, and internal/sandboxport"},
	{Package: "cmd/internal/cli/frame", May: []string{"internal/similar"},
		Why: "the common code of both command lines: parsing, help and exit codes"},
	{Package: "cmd/internal/cli/manual", Tests: []string{"internal/alltest"},
		Why: "completion scripts and manual pages follow from the commands of any program"},
	{Package: "cmd/internal/cli/conform",
		May: []string{
			"conformance/...", "scim/wirelog", "cmd/internal/cli/frame", "cmd/internal/cli/manual", "cmd/internal/mockserver", "cmd/internal/scheme",
			"scimserver/quirks", "internal/counted", "internal/similar",
		},
		Why: "the conformance commands alone are a small static binary, without a database"},
	{Package: "cmd/internal/cli/...", May: []string{
		"cmd/internal/bench", "cmd/internal/cli/...", "cmd/internal/daemon", "cmd/internal/doctor", "internal/counted", "internal/similar",
		"cmd/internal/scheme",
		"cmd/internal/serving", "internal/errtext",
		"cmd/internal/sandbox/...", "engine", "engine/control/client",
		"scim/lenient", "scimserver/...", "mgmtapi", "internal/docstore", "internal/rest", "internal/sqldb/...",
	}, Why: "command groups start other packages and contain no logic of their own"},
	{Package: "cmd/scim-conformance", May: []string{"cmd/internal/cli/conform"}, Why: "static, without cgo"},
	{Package: "cmd/scimwright", May: []string{"cmd/internal/cli/...", "cmd/internal/sandbox"}, Why: "a main reads its arguments and exits"},
}

// Confined lists imports, or patterns of imports, that only the named packages may have outside test files.
var Confined = []struct {
	Import string
	To     []string
	Why    string
}{
	{"github.com/mattn/go-sqlite3", []string{"internal/sqldb/sqlopen"},
		"drivers and cgo stay in one place, so that everything else builds without them"},
	{"github.com/jackc/pgx/v5/stdlib", []string{"internal/sqldb/sqlopen"}, "drivers stay in one place"},
	{"github.com/riverqueue/river/...", []string{"engine/jobs/riverjobs"}, "a program that does not import riverjobs does not contain River"},
	{"engine/jobs/riverjobs", []string{"cmd/internal/serving", "engine/internal/riverjobstest"},
		"only programs and test helpers choose River, so that everything else builds without it"},
	{"internal/sqldb/sqlopen", []string{
		"cmd/internal/daemon", "cmd/internal/doctor", "cmd/internal/serving", "cmd/internal/sandbox/...", "cmd/internal/cli/...",
		"cmd/scimwright", "internal/sqldb/sqldbtest"},
		"only mains, the composition root and test helpers open databases"},
	{"mgmtapi/internal/assembly", []string{"mgmtapi", "mgmtapi/internal/apitest/..."}, "the management API is opened by mgmtapi.Open"},
	{"go.yaml.in/yaml/v3", nil, "all YAML is read by github.com/goccy/go-yaml, so that all files follow the same rules"},
	{"gopkg.in/yaml.v3", nil, "all YAML is read by github.com/goccy/go-yaml, so that all files follow the same rules"},
	{"testing", []string{"*test"}, "test support is in packages whose names end in test"},
}
