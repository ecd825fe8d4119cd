// Package docs keeps the pages under docs/ true: its test compares what they
// say of the program's variables with what the program declares.
//
// go test ./internal/docs -update writes the pages anew.
package docs
