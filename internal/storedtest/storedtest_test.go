package storedtest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/storedtest"
)

type inner struct {
	Name string `json:"name"`
	Off  bool   `json:"off,omitempty"`
}

type outer struct {
	At   time.Time         `json:"at"`
	List []inner           `json:"list"`
	By   map[string]*inner `json:"by"`
	Raw  json.RawMessage   `json:"raw"`
	Any  any               `json:"any"`
	Old  int               `json:"old"`
}

func TestProblems(t *testing.T) {
	text, err := storedtest.Example(storedtest.Of[outer]())
	require.NoError(t, err)
	var form storedtest.Form
	require.NoError(t, json.Unmarshal([]byte(text), &form))
	require.Len(t, form.Means, 10, text)
	require.Empty(t, storedtest.Of[outer]().Problems(form))

	type unread struct {
		Name string `json:"-"`
		Off  bool   `json:"off"`
	}
	old := storedtest.Form{Stored: []byte(`{"name":"a","off":true}`), Means: map[string]any{"Name": "a", "Off": true}}
	require.Equal(t, []string{"/name is lost by encoding again", "Name was a, and is decoded as <nil>"}, storedtest.Of[unread]().Problems(old))
	type renamed struct {
		Title string `json:"name"`
		Off   bool   `json:"off"`
	}
	require.Equal(t, []string{"Name was a, and is decoded as <nil>"}, storedtest.Of[renamed]().Problems(old))
	codec := storedtest.Of[renamed]()
	codec.Renamed = map[string]string{"Name": "Title"}
	require.Empty(t, codec.Problems(old))
	type other struct {
		Name string `json:"off"`
		Off  bool   `json:"name"`
	}
	require.Len(t, storedtest.Of[other]().Problems(old), 1, "a member of another type is not decoded")
	require.Contains(t, storedtest.Of[struct {
		Name []string `json:"name"`
	}]().Problems(old)[0], "cannot unmarshal")
}
