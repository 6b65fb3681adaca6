package model

// NewIDAt is NewID at a time.
var NewIDAt = newID
