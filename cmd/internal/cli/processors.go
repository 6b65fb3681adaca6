package cli

import (
	"runtime"

	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// SpareProcessors runs as many goroutines at once as a program needs that keeps its data in SQLite, unless the environment says how
// many (GOMAXPROCS). lookupEnv is os.LookupEnv.
func SpareProcessors(lookupEnv func(string) (string, bool)) {
	if n, _ := lookupEnv("GOMAXPROCS"); n == "" {
		runtime.GOMAXPROCS(sqlopen.Processors(runtime.GOMAXPROCS(0)))
	}
}
