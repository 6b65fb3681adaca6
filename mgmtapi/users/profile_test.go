package users

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/model"
)

func TestTheProfileIsTheOneTheModelKnows(t *testing.T) {
	for _, a := range attributes {
		require.True(t, model.UserAttribute(a.name), a.name)
	}
	require.Len(t, attributes, 31)
}

func TestFormatsOfAttributes(t *testing.T) {
	for _, c := range []struct {
		check     func(string) string
		good, bad []string
	}{
		{checkEmail, []string{"a@b", "a.b+c@d.example", "o'neil@x.org", "üser@exämple.org"}, []string{"a", "a@", "@b", "a b@c", "a..b@c", "a@b@c", "a@b."}},
		{checkURL, []string{"https://x.org/a?b", "http://localhost"}, []string{"x.org", "/x", "mailto:a@b", "http://"}},
		{checkCountry, []string{"US", "CH", "GB"}, []string{"us", "USA", "XX", "ZZ", "840", "EU1"}},
		{checkLanguages, []string{"en", "de-CH, de;q=0.9, *;q=0.1"}, []string{"english language", ";;"}},
		{checkLocale, []string{"en_US", "de_CH", "gsw_CH"}, []string{"en", "en-US", "EN_us", "en_XX", "en_US_x"}},
		{checkTimezone, []string{"Europe/Zurich", "UTC", "America/Argentina/Buenos_Aires"}, []string{"Local", "Europe/Nowhere", "../etc/passwd", "/etc/passwd"}},
	} {
		for _, text := range c.good {
			require.Empty(t, c.check(text), text)
		}
		for _, text := range c.bad {
			require.NotEmpty(t, c.check(text), text)
		}
	}
}
