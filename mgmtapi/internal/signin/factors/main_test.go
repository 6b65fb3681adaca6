package factors_test

import (
	"os"
	"testing"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }
