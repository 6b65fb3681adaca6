package console

import (
	"bytes"
	"io/fs"
	"net/http"
	"time"

	"github.com/scimwright/scimwright/internal/look"
)

// styleFile is the style sheet of the console. The style of the components, which the report of the suite has too, precedes it.
const styleFile = "assets/console.css"

// asset returns the content of a file of assets/ as the console serves it.
func asset(file string) ([]byte, error) {
	data, err := fs.ReadFile(assetFiles, file)
	if file == styleFile {
		data = append([]byte(look.Style()), data...)
	}
	return data, err
}

func serveAsset(w http.ResponseWriter, r *http.Request, file string) {
	data, err := asset(file)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, file, time.Time{}, bytes.NewReader(data))
}
