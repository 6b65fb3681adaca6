package cli

import (
	"runtime"

	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// SpareProcessors sets the number of processors (see runtime.GOMAXPROCS) of a program whose database is SQLite to the result of
// sqlopen.Processors, unless the environment variable GOMAXPROCS sets it. lookupEnv is os.LookupEnv.
func SpareProcessors(lookupEnv func(string) (string, bool)) {
	if n, _ := lookupEnv("GOMAXPROCS"); n == "" {
		runtime.GOMAXPROCS(sqlopen.Processors(runtime.GOMAXPROCS(0)))
	}
}
