package sandbox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/engine/control/client"
)

func TestTask_NamesDeletedUser(t *testing.T) {
	t.Parallel()
	d := drive(t, sandbox.Options{})
	ann := d.assign("ann@northwind.example")
	d.settle()
	d.target.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	do(t, d.api, http.MethodPost, "/api/v1/users/"+ann+"/lifecycle/deactivate", "", nil)
	do(t, d.api, http.MethodDelete, "/api/v1/users/"+ann, "", nil)
	d.settle()

	var tasks []client.Task
	d.get("/tasks", &tasks)
	require.Len(t, tasks, 1)
	require.Equal(t, "ann@northwind.example", tasks[0].Name)
	var events []client.Event
	d.get("/principals/user/"+ann+"/events", &events)
	require.NotEmpty(t, events)
	for _, e := range events {
		require.Equal(t, "ann@northwind.example", e.Name)
	}
}
