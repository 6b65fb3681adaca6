package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func TestFormatsOfAttributes(t *testing.T) {
	for format, texts := range map[model.Format]struct{ good, bad []string }{
		model.FormatEmail: {[]string{"a@b", "a.b+c@d.example", "o'neil@x.org", "üser@exämple.org"},
			[]string{"a", "a@", "@b", "a b@c", "a..b@c", "a@b@c", "a@b."}},
		model.FormatURI: {[]string{"https://x.org/a?b", "http://localhost"}, []string{"x.org", "/x", "mailto:a@b", "http://"}},
		model.FormatDateTime: {[]string{"2026-03-04T05:06:07Z", "2026-03-04T05:06:07.5+01:00"},
			[]string{"2026-03-04", "yesterday", "2026-13-04T05:06:07Z"}},
		model.FormatCountry:   {[]string{"US", "CH", "GB"}, []string{"us", "USA", "XX", "ZZ", "840", "EU1"}},
		model.FormatLanguages: {[]string{"en", "de-CH, de;q=0.9, *;q=0.1"}, []string{"english language", ";;"}},
		model.FormatLocale:    {[]string{"en_US", "de_CH", "gsw_CH"}, []string{"en", "en-US", "EN_us", "en_XX", "en_US_x"}},
		model.FormatTimezone: {[]string{"Europe/Zurich", "UTC", "America/Argentina/Buenos_Aires"},
			[]string{"Local", "Europe/Nowhere", "../etc/passwd", "/etc/passwd"}},
	} {
		for _, text := range texts.good {
			require.Empty(t, format.Problem(text), text)
		}
		for _, text := range texts.bad {
			require.NotEmpty(t, format.Problem(text), text)
		}
	}
	require.Empty(t, model.Format("").Problem("anything"))
}
