package slicetest_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

const hardwareRoot = "/api/v1/org/factors/hardware_token/tokens"

const (
	privateID = "8792ebfe26cc"
	aesKey    = "ecde18dbe76fbd0c33330f1c354871db"
)

func seed(serial, publicID string) string {
	return fmt.Sprintf(`{"serialNumber":%q,"publicId":%q,"privateId":%q,"aesKey":%q}`, serial, publicID, privateID, aesKey)
}

// assign assigns a token to a user, as an enrollment does.
func assign(t *testing.T, e *apitest.Env, token, user string) {
	t.Helper()
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		doc, err := e.Model.HardwareTokens.Get(t.Context(), tx, token)
		require.NoError(t, err)
		owner, err := e.Model.Users.Get(t.Context(), tx, user)
		require.NoError(t, err)
		doc.Value.Assign(user, owner.Value.Text("email"), "ykf00000000000000001", e.Clock.Now())
		doc.Value.LastVerified = e.Clock.Now()
		_, err = e.Model.HardwareTokens.Update(t.Context(), tx, token, doc.Rev, doc.Value)
		return err
	}))
}

func hardwareUser(login, email string) string {
	return fmt.Sprintf(`{"profile":{"login":%q,"email":%q,"firstName":"A","lastName":"B"}}`, login, email)
}

// Proves B-tokens-02, B-tokens-05, B-tokens-12.
func TestHardwareToken_Lifecycle(t *testing.T) {
	secrets := seal.Random()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, func(o *assembly.Options) { o.Secrets = secrets })
		saved := e.Run(t,
			apitest.Step{Do: "GET " + hardwareRoot, Equal: map[string]any{"#": 0}, Has: []string{"link:self"}, Lacks: []string{"link:next"}},
			apitest.Step{
				Do: "POST " + hardwareRoot, Body: seed("00012345", "cccccccccccb"), Save: map[string]string{"id": "id", "self": "_links.self.href"},
				Equal: map[string]any{"status": "UNASSIGNED", "profile.serial": "000000012345", "_links.self.hints.allow": []any{"GET", "DELETE"}},
				Lacks: []string{"activated", "lastVerified", "_links.user", "_links.deactivate", "_embedded", "publicId"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Regexp(t, "^ykk[0-9A-Za-z]{17}$", a.Value("id"))
					require.NotContains(t, strings.ToLower(string(a.Body)), privateID)
				},
			},
			apitest.Step{Do: "GET {{self}}", Equal: map[string]any{"id": "{{id}}", "status": "UNASSIGNED"}},
			apitest.Step{Do: "POST /api/v1/users", Body: hardwareUser("ada@example.com", "ada@example.com"), Save: map[string]string{"user": "id"}},
		)
		assign(t, e, saved["id"], saved["user"])
		e.Run(t,
			apitest.Step{
				Do: "GET " + hardwareRoot + "/" + saved["id"] + "?expand=user", Equal: map[string]any{
					"status": "ACTIVE", "activated": "2026-03-04T05:06:07.000Z", "lastVerified": "2026-03-04T05:06:07.000Z",
					"_links.self.hints.allow":       []any{"GET"},
					"_links.user.href":              e.Server.URL + "/api/v1/users/" + saved["user"],
					"_links.deactivate.href":        e.Server.URL + "/api/v1/users/" + saved["user"] + "/factors/ykf00000000000000001",
					"_links.deactivate.hints.allow": []any{"DELETE"},
					"_embedded.user.id":             saved["user"], "_embedded.user.profile.login": "ada@example.com",
				},
			},
			apitest.Step{Do: "GET " + hardwareRoot, Equal: map[string]any{"#": 1, "0.status": "ACTIVE"}, Lacks: []string{"0._embedded"}},
			apitest.Step{Do: "GET " + hardwareRoot + "?expand=user", Equal: map[string]any{"0._embedded.user.id": saved["user"]}},
			apitest.Step{Name: "an assigned token cannot be deleted", Do: "DELETE " + hardwareRoot + "/" + saved["id"], Status: 403,
				Code: "E0000107"},
			apitest.Step{Name: "a filter finds the token by the email of its user",
				Do: "GET " + hardwareRoot + "?filter=profile.email+eq+%22ada@example.com%22", Equal: map[string]any{"#": 1}},
			apitest.Step{Do: "POST /api/v1/users/" + saved["user"], Body: `{"profile":{"email":"lovelace@example.com"}}`},
			apitest.Step{Name: "a filter finds the token by the changed email",
				Do:    "GET " + hardwareRoot + "?filter=profile.email+eq+%22lovelace@example.com%22",
				Equal: map[string]any{"#": 1}},
			apitest.Step{Name: "a filter does not find the token by the earlier email",
				Do:    "GET " + hardwareRoot + "?filter=profile.email+eq+%22ada@example.com%22",
				Equal: map[string]any{"#": 0}},
		)
		stored, err := e.Model.HardwareTokens.Get(t.Context(), e.Store.Reader(), saved["id"])
		require.NoError(t, err)
		token, err := stored.Value.Token(secrets, saved["id"])
		require.NoError(t, err)
		require.Equal(t, privateID+aesKey, fmt.Sprintf("%x%x", token.PrivateID, token.Key))
		text, err := json.Marshal(stored.Value)
		require.NoError(t, err)
		require.NotContains(t, string(text), aesKey)
		_, err = stored.Value.Token(secrets, "ykk00000000000000000")
		require.Error(t, err, "an encrypted seed can be decrypted only in its own member")
		require.NotContains(t, e.Log.String(), aesKey)

		require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
			stored.Value.Return()
			_, err := e.Model.HardwareTokens.Update(t.Context(), tx, stored.ID, stored.Rev, stored.Value)
			return err
		}))
		e.Run(t,
			apitest.Step{
				Name: "an unassigned token keeps its time of last use", Do: "GET " + hardwareRoot + "/" + saved["id"],
				Equal: map[string]any{"status": "UNASSIGNED", "lastVerified": "2026-03-04T05:06:07.000Z"}, Lacks: []string{"activated", "_links.user"},
			},
			apitest.Step{Do: "DELETE " + hardwareRoot + "/" + saved["id"], Status: 204},
			apitest.Step{Do: "GET " + hardwareRoot + "/" + saved["id"], Status: 404, Code: "E0000007"},
			apitest.Step{Do: "DELETE " + hardwareRoot + "/" + saved["id"], Status: 404, Code: "E0000007"},
			apitest.Step{Name: "serial number and public id can be used again", Do: "POST " + hardwareRoot, Body: seed("12345", "cccccccccccb")},
		)
	})
}

func TestHardwareToken_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	body := func(member, value string) string {
		fields := map[string]any{"serialNumber": "2", "publicId": "vvvvvvvvvvvv", "privateId": privateID, "aesKey": aesKey}
		require.NoError(t, json.Unmarshal([]byte(value), new(any)))
		fields[member] = json.RawMessage(value)
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		return string(text)
	}
	steps := []apitest.Step{
		{Do: "POST " + hardwareRoot, Body: seed("1", "cccccccccccc"), Save: map[string]string{"id": "id"}},
		{Name: "without a body", Do: "POST " + hardwareRoot, Status: 400, Code: "E0000003"},
		{Name: "with an array", Do: "POST " + hardwareRoot, Body: `[]`, Status: 400, Code: "E0000003"},
		{Name: "without members", Do: "POST " + hardwareRoot, Body: `{}`, Status: 400, Code: "E0000001",
			Causes: []string{"serialNumber", "publicId", "privateId", "aesKey"}},
		{Name: "with members of wrong types", Do: "POST " + hardwareRoot, Body: `{"serialNumber":1,"publicId":{},"privateId":[],"aesKey":true}`,
			Status: 400,
			Code:   "E0000001", Causes: []string{"serialNumber", "publicId", "privateId", "aesKey"}},
		{Name: "with a duplicate serial number, ignoring leading zeros", Do: "POST " + hardwareRoot, Body: seed("0001", "vvvvvvvvvvvv"),
			Status: 400, Code: "E0000001", Causes: []string{"serialNumber: An object with this field already exists"}},
		{Name: "with a duplicate public id", Do: "POST " + hardwareRoot, Body: seed("2", "cccccccccccc"), Status: 400, Code: "E0000001",
			Causes: []string{"publicId: An object with this field already exists"}},
		{Name: "without credentials", Do: "GET " + hardwareRoot, Header: map[string]string{"Authorization": ""}, Status: 403, Code: "E0000005"},
		{Name: "with an invalid cursor", Do: "GET " + hardwareRoot + "?after=x", Status: 400, Code: "E0000029"},
		{Name: "with the page size 0", Do: "GET " + hardwareRoot + "?limit=0", Status: 400, Code: "E0000001", Causes: []string{"limit"}},
		{Name: "with a page size that is not a number", Do: "GET " + hardwareRoot + "?limit=x", Status: 400, Code: "E0000001",
			Causes: []string{"limit"}},
		{Name: "sorted by an unknown attribute", Do: "GET " + hardwareRoot + "?sortBy=publicId", Status: 400, Code: "E0000001",
			Causes: []string{"sortBy"}},
		{Name: "expanded by an unknown name", Do: "GET " + hardwareRoot + "?expand=factor", Status: 400, Code: "E0000001",
			Causes: []string{"expand"}},
		{Name: "with an invalid boolean for forDownload", Do: "GET " + hardwareRoot + "?forDownload=maybe", Status: 400, Code: "E0000001",
			Causes: []string{"forDownload"}},
		{Name: "filtered by an unknown attribute", Do: "GET " + hardwareRoot + "?filter=aesKey+eq+%22x%22", Status: 400, Code: "E0000031"},
		{Name: "filtered with an unsupported operator", Do: "GET " + hardwareRoot + "?filter=profile.serial+sw+%220%22", Status: 400,
			Code: "E0000031"},
		{Name: "with an invalid time", Do: "GET " + hardwareRoot + "?filter=created+gt+%22today%22", Status: 400, Code: "E0000031"},
		{Name: "with an incomplete expression", Do: "GET " + hardwareRoot + "?filter=created+gt", Status: 400, Code: "E0000031"},
		{Name: "with an id of another kind", Do: "GET " + hardwareRoot + "/00u00000000000000000", Status: 404, Code: "E0000007"},
		{Do: "DELETE " + hardwareRoot + "/ykk00000000000000000", Status: 404, Code: "E0000007"},
		{Name: "with the unsupported method PUT", Do: "PUT " + hardwareRoot + "/{{id}}", Body: `{}`, Status: 405, Code: "E0000022"},
	}
	for member, values := range map[string][]string{
		"serialNumber": {`"1234567890123"`, `"-1"`, `"1 2"`, `"12a"`, `"１２"`},
		"publicId":     {`"vvvvvvvvvvv"`, `"vvvvvvvvvvvvv"`, `"VVVVVVVVVVVV"`, `"aaaaaaaaaaaa"`},
		"privateId":    {`"8792ebfe26"`, `"8792ebfe26cc00"`, `"8792ebfe26cx"`},
		"aesKey":       {`"ecde18dbe76fbd0c33330f1c354871"`, `"ecde18dbe76fbd0c33330f1c354871dbdb"`, `"zcde18dbe76fbd0c33330f1c354871db"`},
	} {
		for _, value := range values {
			steps = append(steps,
				apitest.Step{Name: member + " " + value, Do: "POST " + hardwareRoot, Body: body(member, value), Status: 400, Code: "E0000001",
					Causes: []string{member + ": The value must"}})
		}
	}
	steps = append(steps,
		apitest.Step{Name: "no rejected request has stored a token", Do: "GET " + hardwareRoot, Equal: map[string]any{"#": 1}})
	e.Run(t, steps...)
}

func serials(t *testing.T, a *apitest.Answer) (out []string) {
	t.Helper()
	list, ok := a.JSON.([]any)
	require.True(t, ok, "%s", a.Body)
	for i := range list {
		out = append(out, strings.TrimLeft(a.Value(fmt.Sprint(i, ".profile.serial")), "0"))
	}
	return out
}

// fill adds tokens with the serial numbers 5, 1, 4, 2 and 3, in this order, with a minute between them. It then assigns the token 4 to the
// user ann@example.com and the token 2 to the user +bob@example.com.
func fill(t *testing.T, e *apitest.Env) (began time.Time) {
	t.Helper()
	began = e.Clock.Now().Truncate(time.Second)
	ids := map[string]string{}
	for _, serial := range []string{"5", "1", "4", "2", "3"} {
		e.Clock.Advance(time.Minute)
		ids[serial] = e.Run(t,
			apitest.Step{Do: "POST " + hardwareRoot, Body: seed(serial, "cccccccccc"+strings.Repeat(string("cbdefghijklnrtuv"[serial[0]-'0']), 2)),
				Save: map[string]string{"id": "id"}})["id"]
	}
	for serial, email := range map[string]string{"4": "ann@example.com", "2": "+bob@example.com"} {
		id := e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: hardwareUser("u"+serial+"@example.com", email), Save: map[string]string{"id": "id"}})["id"]
		e.Clock.Advance(time.Hour)
		assign(t, e, ids[serial], id)
	}
	return began
}

// Proves B-tokens-03, B-tokens-04, B-tokens-06, B-tokens-10, B-tokens-11.
func TestHardwareToken_List(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		began := fill(t, e)
		at := func(d time.Duration) string { return `"` + began.Add(d).Format(time.RFC3339) + `"` }
		escape := strings.NewReplacer(" ", "+", `"`, "%22", "+", "%2B")
		for name, c := range map[string]struct{ query, want string }{
			"in order of creation":                             {"", "5 1 4 2 3"},
			"in descending order of creation":                  {"sortOrder=DESC", "3 2 4 1 5"},
			"in an unknown order":                              {"sortOrder=up", "5 1 4 2 3"},
			"by serial number":                                 {"sortBy=profile.serial", "1 2 3 4 5"},
			"by serial number, descending":                     {"sortBy=profile.serial&sortOrder=desc", "5 4 3 2 1"},
			"by email, tokens without email last":              {"sortBy=profile.email", "2 4 5 1 3"},
			"by email, descending, tokens without email first": {"sortBy=profile.email&sortOrder=DESC", "3 1 5 4 2"},
			"by status":            {"sortBy=status", "4 2 5 1 3"},
			"with a serial number": {"filter=" + escape.Replace(`profile.serial eq "000000000004"`), "4"},
			"with a serial number without leading zeros": {"filter=" + escape.Replace(`profile.serial eq "4"`), "4"},
			"with an invalid serial number":              {"filter=" + escape.Replace(`profile.serial eq "x"`), ""},
			"with a status":                              {"filter=" + escape.Replace(`status eq "ACTIVE"`), "4 2"},
			"with a status in another case":              {"filter=" + escape.Replace(`status eq "active"`), ""},
			"with an email":                              {"filter=" + escape.Replace(`profile.email eq "+bob@example.com"`), "2"},
			"created after a time":                       {"filter=" + escape.Replace(`created gt `+at(3*time.Minute)), "2 3"},
			"created before a time":                      {"filter=" + escape.Replace(`created lt `+at(3*time.Minute)), "5 1"},
			"created at a time":                          {"filter=" + escape.Replace(`created eq `+at(3*time.Minute)), "4"},
			"activated":                                  {"filter=" + escape.Replace(`activated gt `+at(0)+` and lastVerified gt `+at(0)), "4 2"},
			"with one of two properties": {"filter=" + escape.Replace(`profile.serial eq "5" or status eq "ACTIVE"`) +
				"&sortBy=profile.serial", "2 4 5"},
			"with the largest page size": {"limit=100000", "5 1 4 2 3"},
			"with an unknown user":       {"filter=" + escape.Replace(`user.id eq "00u"`), ""},
		} {
			t.Run(name, func(t *testing.T) {
				a := e.Do(t, "GET "+hardwareRoot+"?"+c.query, "", nil)
				require.Equal(t, 200, a.Status, "%s", a.Body)
				require.Equal(t, c.want, strings.Join(serials(t, a), " "))
			})
		}
		for _, query := range []string{"limit=2", "limit=2&sortBy=profile.email", "limit=2&sortBy=lastVerified&sortOrder=DESC",
			"limit=2&filter=" + escape.Replace(`created gt `+at(0))} {
			t.Run("page by page: "+query, func(t *testing.T) {
				whole := serials(t, e.Do(t, "GET "+hardwareRoot+"?"+strings.Replace(query, "limit=2", "limit=200", 1), "", nil))
				var got []string
				for url := hardwareRoot + "?" + query; url != ""; {
					a := e.Do(t, "GET "+url, "", nil)
					got = append(got, serials(t, a)...)
					require.LessOrEqual(t, len(serials(t, a)), 2)
					url = a.Value("link:next")
				}
				require.Equal(t, whole, got)
			})
		}
		t.Run("a cursor is valid only for its own order", func(t *testing.T) {
			next := e.Do(t, "GET "+hardwareRoot+"?limit=2", "", nil).Value("link:next")
			a := e.Do(t, "GET "+next+"&sortBy=status", "", nil)
			require.Equal(t, "E0000029", a.Value("errorCode"), "%s", a.Body)
		})
	})
}

// Proves B-tokens-07.
func TestHardwareToken_CSVDownload(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	fill(t, e)
	a := e.Do(t, "GET "+hardwareRoot+"?forDownload=true&sortBy=profile.serial", "", map[string]string{"Accept": "text/csv"})
	require.Equal(t, 200, a.Status, "%s", a.Body)
	require.Equal(t, "text/csv; charset=utf-8", a.Header.Get("Content-Type"))
	require.Contains(t, a.Header.Get("Content-Disposition"), "attachment")
	require.True(t, strings.HasPrefix(string(a.Body), "Serial Number,Status,User ID,Email,Created,Activated,Last Verified\r\n"), "%s", a.Body)
	rows, err := csv.NewReader(strings.NewReader(string(a.Body))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 6)
	require.Equal(t, "000000000001,UNASSIGNED,,,2026-03-04T05:08:07.000Z,,", strings.Join(rows[1], ","))
	require.Regexp(t, "^00u", rows[2][2])
	rows[2][2] = ""
	assigned := rows[2][5]
	require.NotEmpty(t, assigned)
	require.Empty(t,
		cmp.Diff([]string{"000000000002", "ACTIVE", "", "'+bob@example.com", "2026-03-04T05:10:07.000Z", assigned, assigned}, rows[2]),
		"no cell may start a formula")

	e.Run(t,
		apitest.Step{
			Name: "a CSV response has pages, too", Do: "GET " + hardwareRoot + "?forDownload=true&limit=2", Has: []string{"link:next"},
			Then: func(t *testing.T, a *apitest.Answer) { require.Equal(t, 3, strings.Count(string(a.Body), "\r\n")) },
		},
		apitest.Step{Name: "an Accept header without CSV and JSON is rejected", Do: "GET " + hardwareRoot,
			Header: map[string]string{"Accept": "image/png"}, Status: 406, Code: "E0000122"},
		apitest.Step{
			Name: "a list without forDownload is JSON, even if the client accepts CSV", Do: "GET " + hardwareRoot,
			Header: map[string]string{"Accept": "text/csv"}, Equal: map[string]any{"#": 5},
			Lacks: []string{"link:next"},
		},
	)
}
