package archtest

// Public lists the packages that other modules import. Other modules can construct everything that they export from public types alone.
var Public = []string{
	"scim", "scim/filter", "scim/lenient", "scim/patch", "scim/schema", "scim/wirelog",
	"engine", "engine/control", "engine/control/client", "engine/enginetest", "engine/mapping", "engine/metrics", "engine/provision",
	"engine/sqlstore", "engine/store", "engine/storetest",
	"scimserver", "scimserver/memstore", "scimserver/observe", "scimserver/quirks", "scimserver/sqlstore", "scimserver/storetest",
	"scimserver/tenants",
	"conformance", "conformance/causes", "conformance/checks", "conformance/clientgrade", "conformance/conformancetest", "conformance/lint",
	"conformance/matrix", "conformance/observed", "conformance/profiles", "conformance/report", "conformance/requirements",
	"conformance/waivers",
	"mgmtapi", "fixtures",
}

// NotYetInternal lists the packages that other modules can import although they are not intended for it. The list may only shrink.
var NotYetInternal = []string{
	"mgmtapi/mgmtapitest", // the tests of the sandbox import it; its functions take types of internal packages
}
