package yubikey

import (
	"fmt"
	"strings"
)

// modhex holds the sixteen characters that have the same place on most keyboards, in the order of their values.
const modhex = "cbdefghijklnrtuv"

// IsModhex reports whether a string consists of lower-case modhex characters.
func IsModhex(text string) bool {
	return strings.Trim(text, modhex) == ""
}

// DecodeModhex decodes pairs of modhex characters to bytes.
func DecodeModhex(text string) ([]byte, error) {
	if len(text)%2 != 0 {
		return nil, fmt.Errorf("%w: odd number of characters", ErrMalformed)
	}
	data := make([]byte, len(text)/2)
	for i := range data {
		high, low := strings.IndexByte(modhex, text[2*i]), strings.IndexByte(modhex, text[2*i+1])
		if high < 0 || low < 0 {
			return nil, fmt.Errorf("%w: not modhex", ErrMalformed)
		}
		data[i] = byte(high<<4 | low)
	}
	return data, nil
}

// EncodeModhex encodes bytes as pairs of modhex characters.
func EncodeModhex(data []byte) string {
	text := make([]byte, 0, 2*len(data))
	for _, b := range data {
		text = append(text, modhex[b>>4], modhex[b&15])
	}
	return string(text)
}
