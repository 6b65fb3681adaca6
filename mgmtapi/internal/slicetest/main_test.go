// Package slicetest_test tests the slices of the management API through the API. The name of a file begins with that of its slice.
//
// The slices with the most tests have theirs beside them. Those of the others are together, because the compiler and the linker take longer
// for the API than the tests of one of these slices take.
package slicetest_test

import (
	"os"
	"testing"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Main(m)) }
