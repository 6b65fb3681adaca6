package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	const passed = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}
`
	const shown = "ok  \tp\t0.1s\n?   \tq\t[no test files]\n"
	for name, tt := range map[string]struct {
		in, want string
		code     int
	}{
		"all passed": {passed, shown, 0},
		"one was skipped": {passed + `{"Action":"output","Package":"r","Test":"TestB/sub","Output":"    --- SKIP: TestB/sub\n"}
{"Action":"skip","Package":"r","Test":"TestB/sub"}
{"Action":"output","Package":"r","Output":"ok  \tr\t0.1s\n"}
{"Action":"pass","Package":"r"}
`, shown + "ok  \tr\t0.1s\nskipped: r.TestB/sub\n", 1},
		"one failed": {`{"Action":"output","Package":"r","Test":"TestC","Output":"    c_test.go:1: no\n"}
{"Action":"fail","Package":"r","Test":"TestC"}
{"Action":"output","Package":"r","Output":"FAIL\tr\t0.1s\n"}
{"Action":"fail","Package":"r"}
` + passed, "    c_test.go:1: no\nFAIL\tr\t0.1s\n" + shown, 1},
		"one does not compile": {`{"ImportPath":"r","Action":"build-output","Output":"r.go:1: no\n"}
{"ImportPath":"r","Action":"build-fail"}
`, "r.go:1: no\n", 1},
		"not JSON, and no line end": {"go: warning", "go: warning", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.Equal(t, tt.code, run(strings.NewReader(tt.in), &out))
			require.Equal(t, tt.want, out.String())
		})
	}
}
