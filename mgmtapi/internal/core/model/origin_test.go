package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func TestSameOrigin(t *testing.T) {
	const base = "https://scim.example.com/v2"
	for url, same := range map[string]bool{
		base: true, "https://scim.example.com": true, "https://scim.example.com:443/other?x=1": true, "HTTPS://SCIM.example.COM/v2": true,
		"https://scim.example.com:/v2": true,

		"http://scim.example.com/v2": false, "https://scim.example.com:8443/v2": false, "http://scim.example.com:443/v2": false,
		"https://scim.example.com.evil.example/v2": false, "https://scim.example.com./v2": false, "https://example.com/v2": false,
		"https://127.0.0.1/v2": false, "https://[::1]/v2": false, "//scim.example.com/v2": false, "scim.example.com": false, "": false,
		"https://%zz": false,
	} {
		require.Equal(t, same, model.SameOrigin(base, url), url)
		require.Equal(t, same, model.SameOrigin(url, base), url)
	}
	require.False(t, model.SameOrigin("", ""), "an invalid URL has no origin")
	require.True(t, model.SameOrigin("http://[::1]:80/a", "http://[::1]/b"))
}
