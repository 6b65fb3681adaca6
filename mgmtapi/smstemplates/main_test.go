package smstemplates_test

import (
	"flag"
	"os"
	"testing"

	"github.com/scimwright/scimwright/mgmtapi/apitest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { os.Exit(apitest.Main(m, update)) }
