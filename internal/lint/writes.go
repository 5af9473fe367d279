package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
)

// dir is the Go files of one directory, parsed, without the generated ones.
type dir struct {
	fset  *token.FileSet
	files []*ast.File
	names []string // paths of files
}

// CheckWrites returns a complaint for each package-level variable among files that a statement of
// its package writes to, tests included. gochecknoglobals leaves only sentinel errors, regular
// expressions and embedded files, and tables with a nolint; this check holds that they never
// change. An exported table is a complaint too, because other packages could write to it.
func CheckWrites(files []File) []string {
	var bad []string
	for _, d := range parseDirs(files) {
		for i, f := range d.files {
			for _, decl := range f.Decls {
				if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.VAR {
					bad = append(bad, d.writes(d.names[i], gen)...)
				}
			}
		}
	}
	slices.Sort(bad)
	return bad
}

// parseDirs groups the Go files by directory. A file that does not parse is left out: the compiler
// reports it.
func parseDirs(files []File) map[string]*dir {
	dirs := map[string]*dir{}
	for _, f := range files {
		if !isGo(f.Path) {
			continue
		}
		d := dirs[path.Dir(f.Path)]
		if d == nil {
			d = &dir{fset: token.NewFileSet()}
			dirs[path.Dir(f.Path)] = d
		}
		tree, err := parser.ParseFile(d.fset, f.Path, f.Text, parser.ParseComments)
		if err == nil && !ast.IsGenerated(tree) {
			d.files, d.names = append(d.files, tree), append(d.names, f.Path)
		}
	}
	return dirs
}

// writes returns a complaint for each variable of gen, declared in the file called name, that is
// written to.
func (d *dir) writes(name string, gen *ast.GenDecl) []string {
	var bad []string
	for _, spec := range gen.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for j, id := range v.Names {
			why := d.written(v, id.Name)
			if len(v.Values) == len(v.Names) && id.IsExported() && isTable(v.Values[j]) {
				why = "is a table that other packages can write to"
			}
			if id.Name != "_" && why != "" {
				bad = append(bad,
					fmt.Sprintf(
						"%s:%d: the package-level variable %s %s, and all goroutines and tests share it: use a field, a parameter, a const or a function that returns it",
						name, d.fset.Position(id.Pos()).Line, id.Name, why))
			}
		}
	}
	return bad
}

// isTable reports whether x is a literal of a slice, an array or a map.
func isTable(x ast.Expr) bool {
	lit, ok := x.(*ast.CompositeLit)
	if !ok {
		return false
	}
	switch lit.Type.(type) {
	case *ast.ArrayType, *ast.MapType:
		return true
	default:
		return false
	}
}

// written looks in the whole package, tests included, for a statement that changes the variable
// called name.
func (d *dir) written(spec *ast.ValueSpec, name string) string {
	w := &writes{spec: spec, name: name}
	for i, f := range d.files {
		ast.Inspect(f, w.look)
		if w.at.IsValid() {
			return fmt.Sprintf("is written at %s:%d", d.names[i], d.fset.Position(w.at).Line)
		}
	}
	return ""
}

// writes finds the first write to a package-level variable.
type writes struct {
	spec *ast.ValueSpec
	name string
	at   token.Pos
}

func (w *writes) look(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			w.targets(x.Lhs...)
		}
	case *ast.IncDecStmt:
		w.targets(x.X)
	case *ast.RangeStmt:
		if x.Tok == token.ASSIGN {
			w.targets(x.Key, x.Value)
		}
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			w.targets(x.X)
		}
	case *ast.CallExpr:
		if fn, ok := x.Fun.(*ast.Ident); ok && len(x.Args) > 0 && slices.Contains([]string{"delete", "clear", "copy"}, fn.Name) {
			w.targets(x.Args[0])
		}
	}
	return !w.at.IsValid()
}

// targets notes a write if one of exprs is the variable, or a part of it.
func (w *writes) targets(exprs ...ast.Expr) {
	for _, e := range exprs {
		for e != nil {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.SelectorExpr:
				e = x.X
				continue
			case *ast.SliceExpr:
				e = x.X
				continue
			case *ast.ParenExpr:
				e = x.X
				continue
			case *ast.Ident:
				if x.Name == w.name && w.ours(x) {
					w.at = x.Pos()
				}
			}
			break
		}
	}
}

// ours reports whether id is the package's variable and not a local variable of the same name. The
// parser resolves the names that the file declares, and leaves the names of other files unresolved.
func (w *writes) ours(id *ast.Ident) bool {
	return id.Obj == nil || id.Obj.Decl == w.spec
}
