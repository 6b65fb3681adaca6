module example.com/suite

go 1.26.0

require github.com/scimwright/scimwright v0.0.0

require (
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/scimwright/scimwright => ../..
