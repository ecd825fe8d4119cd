package aicodebox_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/psyb0t/aicodebox"

// room is a package of this module and what it imports, tests left out. Names
// are relative to the module, "" for the root; imports are full paths.
type room struct {
	name    string
	imports []string
}

// surfaceRooms are the packages of the surfaces.
var surfaceRooms = []string{"api", "openai", "mcp", "telegram", "cron"}

// kits are internal packages that only tests use: they may know the house.
var kits = []string{"internal/boxtest", "internal/docs"}

// TestImports holds the rooms to who may know whom.
func TestImports(t *testing.T) {
	t.Parallel()
	rooms := readRooms(t)
	for _, r := range rooms {
		for _, fault := range faults(r, rooms) {
			t.Errorf("%s: %s", cmpName(r.name), fault)
		}
	}
	if len(rooms) < 5 {
		t.Errorf("found only %d packages", len(rooms))
	}
}

func cmpName(name string) string {
	if name == "" {
		return "aicodebox"
	}
	return name
}

// faults returns what r imports and may not.
func faults(r room, rooms map[string]room) []string {
	var found []string
	forbid := func(imp, why string) { found = append(found, "imports "+imp+": "+why) }
	switch kind := top(r.name); {
	case r.name == "":
		for _, imp := range everything(r, rooms) {
			if !standard(imp) && !ours(imp) {
				forbid(imp, "the root needs no module but the standard library, so that an adapter's tests build at once")
			}
			if ours(imp) && !strings.HasPrefix(within(imp), "internal/") && within(imp) != "" {
				forbid(imp, "the root knows only internal leaves")
			}
		}
	case r.name == "runner":
		for _, imp := range r.imports {
			if imp == "net/http" {
				forbid(imp, "the runner speaks no protocol")
			}
			if ours(imp) && within(imp) != "" && !leaf(within(imp)) {
				forbid(imp, "the runner knows the root and internal leaves")
			}
		}
	case slices.Contains(surfaceRooms, kind):
		for _, imp := range r.imports {
			if other := top(within(imp)); ours(imp) && other != kind && slices.Contains(surfaceRooms, other) {
				forbid(imp, "no surface knows another")
			}
		}
	case kind == "internal" && !slices.Contains(kits, r.name):
		for _, imp := range r.imports {
			if ours(imp) && !leaf(within(imp)) {
				forbid(imp, "a leaf knows no public package of the house")
			}
		}
	}
	for _, imp := range r.imports {
		if ours(imp) && slices.Contains(kits, within(imp)) {
			forbid(imp, "it is for tests only")
		}
	}
	return found
}

// everything returns what r imports, directly and through this module.
func everything(r room, rooms map[string]room) []string {
	seen := map[string]bool{}
	var all []string
	var walk func(r room)
	walk = func(r room) {
		for _, imp := range r.imports {
			if seen[imp] {
				continue
			}
			seen[imp] = true
			all = append(all, imp)
			if ours(imp) {
				walk(rooms[within(imp)])
			}
		}
	}
	walk(r)
	return all
}

func ours(imp string) bool { return imp == module || strings.HasPrefix(imp, module+"/") }

func within(imp string) string {
	return strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
}

func leaf(name string) bool { return strings.HasPrefix(name, "internal/") }

// standard tells whether imp is of the standard library: no other import has a
// first element without a dot.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

func top(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

// readRooms reads the imports of every package of the module on any system it
// is built for.
func readRooms(t *testing.T) map[string]room {
	t.Helper()
	rooms := make(map[string]room)
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if base := d.Name(); dir != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
			return fs.SkipDir
		}
		if imports := importsOf(t, dir); imports != nil {
			name := filepath.ToSlash(dir)
			if name == "." {
				name = ""
			}
			rooms[name] = room{name: name, imports: imports}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rooms
}

func importsOf(t *testing.T, dir string) []string {
	t.Helper()
	ctx := build.Default
	ctx.UseAllFiles = true
	p, err := ctx.ImportDir(dir, 0)
	if _, none := err.(*build.NoGoError); none { //nolint:errorlint // go/build returns it as it is
		return nil
	}
	if p == nil || len(p.Imports) == 0 && err != nil {
		t.Errorf("read the imports of %s: %v", dir, err)
		return nil
	}
	return append([]string{}, p.Imports...)
}

// mostNames is how many names the root may show: a newcomer reads them all.
// Constants are not counted beside the type whose values they are.
const mostNames = 50

// TestNames counts the exported names of the root.
func TestNames(t *testing.T) {
	t.Parallel()
	var names []string
	for _, file := range goFiles(t) {
		for _, decl := range file.Decls {
			names = append(names, exported(decl)...)
		}
	}
	if len(names) > mostNames {
		t.Errorf("the root has %d exported names, more than %d: %v", len(names), mostNames, names)
	}
}

func goFiles(t *testing.T) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if path.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func exported(decl ast.Decl) []string {
	var names []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() && (d.Tok == token.VAR || s.Type == nil) {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
