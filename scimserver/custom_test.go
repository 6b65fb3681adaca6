package scimserver_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// The documents of a resource type with every characteristic and every data type, and of a required extension.
const (
	deviceURN = "urn:example:schemas:Device"
	assetURN  = "urn:example:schemas:Asset"

	deviceSchema = `{"schemas":["` + scim.SchemaSchema + `"],"id":"` + deviceURN + `","name":"Device","attributes":[
		{"name":"serial","required":true,"caseExact":true,"uniqueness":"server","mutability":"immutable"},
		{"name":"label","returned":"always"},
		{"name":"code","caseExact":true},
		{"name":"pin","mutability":"writeOnly","returned":"never"},
		{"name":"notes","returned":"request"},
		{"name":"status","mutability":"readOnly"},
		{"name":"color","canonicalValues":["red","blue"]},
		{"name":"on","type":"boolean"},
		{"name":"weight","type":"decimal"},
		{"name":"ports","type":"integer"},
		{"name":"bought","type":"dateTime"},
		{"name":"key","type":"binary","caseExact":true},
		{"name":"site","type":"reference","referenceTypes":["external"],"caseExact":true},
		{"name":"owner","type":"complex","subAttributes":[{"name":"value"},{"name":"$ref","type":"reference","referenceTypes":["User"]}]},
		{"name":"aliases","multiValued":true},
		{"name":"disks","type":"complex","multiValued":true,"subAttributes":[
			{"name":"name","required":true},{"name":"size","type":"integer"},{"name":"primary","type":"boolean"}]}]}`
	assetSchema = `{"schemas":["` + scim.SchemaSchema + `"],"id":"` + assetURN + `","name":"Asset","attributes":[
		{"name":"number","required":true,"uniqueness":"server"},{"name":"room"}]}`
	deviceType = `{"schemas":["` + scim.ResourceTypeSchema + `"],"id":"Device","name":"Device","endpoint":"/Devices","schema":"` + deviceURN +
		`",
		"schemaExtensions":[{"schema":"` + assetURN + `","required":true}]}`
)

// eachCustom runs a test with servers of the device type, which enforce every declared uniqueness.
func eachCustom(t *testing.T, run func(t *testing.T, h *harness)) {
	types, err := schema.Load(fstest.MapFS{
		"device.json": {Data: []byte(deviceSchema)}, "asset.json": {Data: []byte(assetSchema)}, "type.json": {Data: []byte(deviceType)},
	})
	require.NoError(t, err)
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		run(t, serve(t, storeOn(t, db, types...), func(o *scimserver.Options) { o.Types = types }))
	})
}

// device returns the body of a device. Its asset number is derived from the serial.
func device(serial string, more ...object) object {
	return merge(object{"schemas": []string{deviceURN, assetURN}, "serial": serial, assetURN: object{"number": "N-" + serial}}, more)
}

func (h *harness) newDevice(t testing.TB, serial string, more ...object) *response {
	t.Helper()
	return h.do(t, http.MethodPost, "/Devices", device(serial, more...)).want(t, http.StatusCreated)
}

func TestCustomType_AllOperations(t *testing.T) {
	eachCustom(t, func(t *testing.T, h *harness) {
		a := h.newDevice(t, "s1", object{
			"on": true, "weight": 1.5, "ports": 4, "bought": "2020-01-02T03:04:05Z", "key": "AAEC", "site": "https://example.com/a",
			"owner": object{"value": "7"}, "aliases": []string{"a", "b", "a"},
			"disks": []object{{"name": "sda", "size": 5, "primary": true}, {"name": "sdb"}},
		})
		path := "/Devices/" + a.id()
		require.Equal(t, h.url+path, a.header.Get("Location"))
		require.Equal(t, `"Device"`, a.json("meta.resourceType"))
		require.Equal(t, `["a","b"]`, a.json("aliases"))
		require.Equal(t, a.text, h.get(t, path).text)
		for _, filter := range []string{
			`serial eq "s1"`, `on eq true`, `weight gt 1.4`, `ports le 4`, `bought lt "2020-01-02T04:04:06+01:00"`, `key eq "AAEC"`,
			`site sw "https:"`,
			`owner.value eq "7"`, `aliases eq "B"`, `disks[name eq "SDA" and size gt 4]`, assetURN + `:number eq "n-S1"`, `disks.primary eq true`,
		} {
			total, _ := h.get(t, filtered("/Devices", filter)).list(t, "id")
			require.Equal(t, "1", total, filter)
		}
		a = h.patch(t, path, op("replace", `disks[name eq "sdb"].primary`, true), op("add", "aliases", []string{"c"}),
			op("add", assetURN+":room", "12"), op("remove", "owner")).want(t, http.StatusOK)
		require.JSONEq(t, `[{"name":"sda","size":5,"primary":false},{"name":"sdb","primary":true}]`, a.json("disks"))
		require.Equal(t, `["a","b","c"]`, a.json("aliases"))
		require.Equal(t, "null", a.json("owner"))
		a = h.do(t, http.MethodPut, path, device("s1", object{"ports": 5})).want(t, http.StatusOK)
		require.Equal(t, "5", a.json("ports"))
		require.Equal(t, "null", a.json("disks"), "a PUT removes the attributes that it does not name")
		h.do(t, http.MethodDelete, path, nil).want(t, http.StatusNoContent)
		h.do(t, http.MethodGet, path, nil).want(t, http.StatusNotFound)
		require.Equal(t, `[{"schema":"`+assetURN+`","required":true}]`, h.get(t, "/ResourceTypes/Device").json("schemaExtensions"))
		h.get(t, "/Schemas/"+assetURN)
		member := h.newDevice(t, "s2").id()
		g := h.newGroup(t, "devices", member)
		require.Contains(t, g.text, `"type":"Device"`)
		require.Contains(t, g.text, h.url+"/Devices/"+member)
	})
}

func TestCustomType_Characteristics(t *testing.T) {
	eachCustom(t, func(t *testing.T, h *harness) {
		a := h.newDevice(t, "s1", object{"label": "Desk", "code": "Ab", "pin": "1234", "notes": "n", "status": "broken", "color": "green"})
		path := "/Devices/" + a.id()
		refused := func(status int, kind scim.Type, method, path string, body any) {
			t.Helper()
			h.do(t, method, path, body).wantError(t, status, kind)
		}
		t.Run("required", func(t *testing.T) {
			refused(400, scim.InvalidValue, "POST", "/Devices", object{"schemas": []string{deviceURN, assetURN}, assetURN: object{"number": "x"}})
			refused(400, scim.Mutability, "PATCH", path, patchOf(op("remove", "serial")))
			refused(400, scim.InvalidValue, "PATCH", path, patchOf(op("add", "disks", []object{{"size": 1}})))
		})
		t.Run("required extension", func(t *testing.T) {
			refused(400, scim.InvalidValue, "POST", "/Devices", object{"schemas": []string{deviceURN}, "serial": "s9"})
			refused(400, scim.InvalidValue, "PUT", path, object{"schemas": []string{deviceURN}, "serial": "s1"})
			refused(400, scim.Mutability, "PATCH", path, patchOf(op("remove", assetURN)))
			refused(400, scim.InvalidValue, "POST", "/Devices", device("s9", object{assetURN: object{"room": "1"}}))
		})
		t.Run("readOnly", func(t *testing.T) {
			require.Equal(t, "null", a.json("status"), "ignored in a POST")
			require.Equal(t, "null",
				h.do(t, "PUT", path, device("s1", object{"label": "Desk", "code": "Ab", "notes": "n", "color": "green", "status": "x"})).want(t,
					200).json("status"))
			refused(400, scim.Mutability, "PATCH", path, patchOf(op("add", "status", "x")))
		})
		t.Run("immutable", func(t *testing.T) {
			refused(400, scim.Mutability, "PUT", path, device("s2"))
			refused(400, scim.Mutability, "PATCH", path, patchOf(op("replace", "serial", "s2")))
			h.patch(t, path, op("replace", "serial", "s1")).want(t, http.StatusOK)
		})
		t.Run("writeOnly and never returned", func(t *testing.T) {
			for _, query := range []string{"", "?attributes=pin", "?attributes=" + deviceURN + ":pin"} {
				require.NotContains(t, h.get(t, path+query).text, "1234")
			}
			require.NotContains(t, h.patch(t, path, op("replace", "pin", "5678")).want(t, http.StatusOK).text, "5678")
			refused(400, scim.InvalidFilter, "GET", filtered("/Devices", `pin eq "5678"`), nil)
		})
		t.Run("returned", func(t *testing.T) {
			require.Equal(t, `"n"`, a.json("notes"), "on request: included after a write that names it")
			require.Equal(t, "null", h.get(t, path).json("notes"))
			require.Equal(t, `"n"`, h.get(t, path+"?attributes=notes").json("notes"))
			require.Equal(t, `"Desk"`, h.get(t, path+"?attributes=code").json("label"), "always")
			require.Equal(t, `"Desk"`, h.get(t, path+"?excludedAttributes=label").json("label"), "always")
			require.Equal(t, "null", h.get(t, path+"?excludedAttributes=code").json("code"), "by default")
		})
		t.Run("caseExact", func(t *testing.T) {
			for filter, want := range map[string]string{`code eq "ab"`: "0", `code eq "Ab"`: "1", `label eq "dESK"`: "1"} {
				total, _ := h.get(t, filtered("/Devices", filter)).list(t, "id")
				require.Equal(t, want, total, filter)
			}
		})
		t.Run("canonicalValues are not enforced", func(t *testing.T) {
			require.Equal(t, `"green"`, a.json("color"))
		})
		t.Run("uniqueness, of extension attributes too", func(t *testing.T) {
			refused(409, scim.Uniqueness, "POST", "/Devices", device("s1", object{assetURN: object{"number": "other"}}))
			h.newDevice(t, "S1", object{assetURN: object{"number": "by case"}})
			refused(409, scim.Uniqueness, "POST", "/Devices", device("s3", object{assetURN: object{"number": "n-S1"}}))
			refused(409, scim.Uniqueness, "PATCH", path, patchOf(op("replace", assetURN+":number", "BY CASE")))
			results := h.bulk(t,
				bulkOf(bulkPost("a", "/Devices", device("b1")), bulkPost("b", "/Devices", device("b2", object{assetURN: object{"number": "n-B1"}}))))
			require.Equal(t, "201 409", statuses(results))
		})
		t.Run("data types", func(t *testing.T) {
			for attribute, wrong := range map[string][]any{
				"on": {1, "yes"}, "weight": {"1.5", true}, "ports": {1.5, "4"}, "bought": {"2020-01-02", "yesterday", 5}, "key": {"not base64!", 1},
				"site": {"", "no uri", 5}, "owner": {true, 5, []int{1}}, "aliases": {[]int{1}}, "disks": {[]string{"sda"}, object{"name": 1}},
				"label": {1, true, object{}},
			} {
				for i, value := range wrong {
					refused(400, scim.InvalidValue, "POST", "/Devices", device(fmt.Sprint("w", attribute, i), object{attribute: value}))
					refused(400, scim.InvalidValue, "PATCH", path, patchOf(op("replace", attribute, value)))
				}
			}
		})
	})
}
