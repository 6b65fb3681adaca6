package daemon

import "net/http"

func (d *Daemon) openAPI(w http.ResponseWriter, r *http.Request) {}
