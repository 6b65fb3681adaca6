package desired

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/storedtest"
)

// TestStoredForms checks that testdata/stored has a form for each JSON column, and that this version decodes all forms.
func TestStoredForms(t *testing.T) {
	storedtest.Check(t, map[string]storedtest.Codec{
		"desired_app doc": storedtest.Of[appDoc](), "desired_app secrets": storedtest.Of[credentials](),
		"desired_principal doc": storedtest.Of[principalDoc](),
	})
}

// TestAppendJSON_AsMarshal checks that the stored form of a user has every field.
func TestAppendJSON_AsMarshal(t *testing.T) {
	const text = `{"resource":{"userName":"a","b":[1,{"c":null}]},"onCreate":{"locale":"en"},"profile":{"x":1.50},"manager":"m",` +
		`"remoteId":"r","passwordVersion":"1","displayName":"\"d\"","deleteRemote":true}`
	for _, in := range []string{text, `{}`, `{"displayName":"x"}`, `{"deleteRemote":true}`} {
		d, err := decodePrincipal(in)
		require.NoError(t, err)
		marshaled, err := json.Marshal(&d)
		require.NoError(t, err)
		require.Equal(t, in, string(marshaled))
		require.Equal(t, in, string(d.appendJSON(nil)))
	}
}
