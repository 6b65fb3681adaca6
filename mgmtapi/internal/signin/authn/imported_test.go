package authn_test

import (
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

func b64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// imported are hashes of the first password, made by the libraries of each algorithm.
func imported(t *testing.T) map[string]string {
	t.Helper()
	salt := []byte("salt and pepper")
	sum := func(prefix, suffix []byte) []byte { return append(append(prefix, first...), suffix...) }
	crypted, err := bcrypt.GenerateFromPassword([]byte(first), 5)
	require.NoError(t, err)
	key256, err := pbkdf2.Key(sha256.New, first, salt, 4096, 32)
	require.NoError(t, err)
	key512, err := pbkdf2.Key(sha512.New, first, salt, 5000, 40)
	require.NoError(t, err)
	plain, before, after := sha256.Sum256(sum(nil, nil)), sha512.Sum512(sum([]byte("salt and pepper"), nil)), sha1.Sum(sum(nil, salt))
	weak := md5.Sum(sum(nil, salt))
	return map[string]string{
		"bcrypt":        fmt.Sprintf(`{"algorithm":"BCRYPT","workFactor":5,"salt":%q,"value":%q}`, crypted[7:29], crypted[29:]),
		"sha256":        fmt.Sprintf(`{"algorithm":"SHA-256","value":%q}`, b64(plain[:])),
		"sha512-prefix": fmt.Sprintf(`{"algorithm":"SHA-512","salt":%q,"saltOrder":"PREFIX","value":%q}`, b64(salt), b64(before[:])),
		"sha1-postfix":  fmt.Sprintf(`{"algorithm":"SHA-1","salt":%q,"saltOrder":"POSTFIX","value":%q}`, b64(salt), b64(after[:])),
		"md5-postfix":   fmt.Sprintf(`{"algorithm":"MD5","salt":%q,"saltOrder":"POSTFIX","value":%q}`, b64(salt), b64(weak[:])),
		"pbkdf2-sha256": fmt.Sprintf(
			`{"algorithm":"PBKDF2","salt":%q,"iterationCount":4096,"keySize":32,"digestAlgorithm":"SHA256_HMAC","value":%q}`, b64(salt),
			b64(key256)),
		"pbkdf2-no-padding": fmt.Sprintf(
			`{"algorithm":"PBKDF2","salt":%q,"iterationCount":5000,"keySize":40,"digestAlgorithm":"SHA512_HMAC","value":%q}`, b64(salt),
			base64.RawStdEncoding.EncodeToString(key512)),
	}
}

// Proves B-hashes-02, B-hashes-03, B-hashes-04, B-hashes-05, B-hashes-06, B-hashes-09, B-hashes-11, B-hashes-12, B-users-17.
func TestImportedHash_ReplacedAtSignIn(t *testing.T) {
	hashes := imported(t)
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		for name, hash := range hashes {
			person := fmt.Sprintf(
				`{"profile":{"login":"%s@example.com","email":"x@example.com","firstName":"X","lastName":"Y"},"credentials":{"password":{"hash":%s}}}`,
				name, hash)
			saved := e.Run(t,
				apitest.Step{Name: name, Do: create, Body: person,
					Equal: map[string]any{"status": "ACTIVE", "credentials.provider.type": "IMPORT", "credentials.provider.name": "IMPORT"},
					Has:   []string{"credentials.password"}, Lacks: []string{"credentials.password.hash"}, Save: map[string]string{"u": "id"}},
				refused(signIn("another password is refused", name, second), 401, "E0000004"),
				apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"credentials.provider.type": "IMPORT"}},
				apitest.Step{Name: "a hash is for users that are STAGED", Do: "POST /api/v1/users/{{u}}",
					Body: `{"credentials":{"password":{"hash":` + hash + `}}}`, Status: 403, Code: "E0000038"},
				signIn("the right one signs in", name, first),
				apitest.Step{Do: "GET /api/v1/users/{{u}}", Equal: map[string]any{"credentials.provider.type": "SVC", "status": "ACTIVE"}},
				signIn("and again", name, first),
			)
			doc, err := e.Model.Users.Get(t.Context(), e.Store.Reader(), saved["u"])
			require.NoError(t, err)
			require.Nil(t, doc.Value.Imported)
			require.NotEmpty(t, doc.Value.PasswordHash)
		}
		e.Run(t,
			apitest.Step{Name: "once each", Do: "GET /api/v1/logs?filter=eventType+eq+%22user.import.password%22",
				Equal: map[string]any{"#": len(hashes)}},
			apitest.Step{Do: create + "?activate=false", Body: isaac(""), Save: map[string]string{"u": "id"}},
			apitest.Step{Name: "a STAGED user gets a hash later", Do: "POST /api/v1/users/{{u}}",
				Body:  `{"credentials":{"password":{"hash":` + hashes["bcrypt"] + `}}}`,
				Equal: map[string]any{"status": "STAGED", "credentials.provider.type": "IMPORT"}},
			apitest.Step{Name: "and changes the password", Do: "POST /api/v1/users/{{u}}/credentials/change_password",
				Body:  `{"oldPassword":{"value":"` + first + `"},"newPassword":{"value":"` + second + `"}}`,
				Equal: map[string]any{"provider.type": "SVC"}},
		)
	})
}
