package env

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// fileSuffix ends the name of a variable that names a file with a secret.
const fileSuffix = "_FILE"

// maxSecret bounds what is read of a secret's file, in bytes.
const maxSecret = 64 << 10

// Secret reads a text that must not be shown, from the variable or from the
// file that its _FILE form names, without the line end of that file. Both forms
// set, and a file that cannot be read or is empty, are errors. A file that can
// be read a second time is a warning: the agent could do so too.
func (t *Table) Secret(name, meaning string) string {
	value, set := t.read(Row{Name: name, Accepts: "a text, or the name of a file with it in the _FILE form", Meaning: meaning, Secret: true})
	path, from, inFile := t.find(name + fileSuffix)
	if set && inFile {
		t.Errorf(name, "and %s are both set; set only one of them", from)
	}
	if inFile && !set {
		value = t.secretFile(name, path, from)
	}
	if found := (secret{t.group, value}); value != "" && !slices.Contains(t.secrets, found) {
		t.secrets = append(t.secrets, found)
	}
	return value
}

// secretFile reads the secret name from the file that the variable from names.
func (t *Table) secretFile(name, path, from string) string {
	row := &t.rows[t.at[name]]
	row.Value, row.From = mask, from
	data, regular, err := readLimited(path)
	if err != nil {
		t.fault(from, "names a file that cannot be used: %v", err)
		return ""
	}
	value := strings.TrimRight(string(data), "\r\n")
	if value == "" {
		t.fault(from, "names the file %s, which is empty; it must hold the secret", path)
		return ""
	}
	if strings.ContainsRune(value, 0) {
		t.fault(from, "names the file %s, which is not a text", path)
		return ""
	}
	if regular {
		t.Warnf("%s: the user that agents run as can read %s, so an agent can read this secret; let only another user read it, or set %s instead",
			from, path, t.Name(name))
	}
	return value
}

// readLimited reads a small file and tells whether it is a regular one.
func readLimited(path string) (data []byte, regular bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if info.IsDir() {
		return nil, false, fmt.Errorf("%s is a directory", path)
	}
	data, err = io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return nil, false, err
	}
	if len(data) > maxSecret {
		return nil, false, errors.New(path + " is too long to be a secret")
	}
	return data, info.Mode().IsRegular(), nil
}
