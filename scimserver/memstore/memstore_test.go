package memstore_test

import (
	"testing"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
	"github.com/scimwright/scimwright/scimserver/storetest"
)

func TestStore_SatisfiesContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) scimserver.Store { return memstore.New() })
}
