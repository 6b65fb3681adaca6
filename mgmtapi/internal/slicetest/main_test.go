// Package slicetest_test tests the slices of the management API through the API. Each file name starts with the name of its slice.
//
// The slices with the most tests have them in their own packages. The tests of the other slices share this package, because compiling and
// linking the API takes longer than running the tests of one of these slices.
package slicetest_test

import (
	"os"
	"testing"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }
