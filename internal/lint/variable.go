package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// constantCalls returns the functions whose results nobody can change afterwards, so that a variable which holds one
// is as good as a constant.
func constantCalls() []string {
	return []string{
		"errors.New", "fmt.Errorf", // sentinels to branch on
		"regexp.MustCompile", // safe for concurrent use, has no setters in use here
		"strings.NewReplacer",
		"crc32.MakeTable",
	}
}

// variables complains about package-level variables that can change: they are shared by all tests and all instances.
// Sentinels, embedded files, interface assertions, and tables that nothing in the package writes to may stay.
func (d *dir) variables(allowed map[string]string) []string {
	var bad []string
	for i, f := range d.files {
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || embedded(gen, v) {
					continue
				}
				for j, name := range v.Names {
					if _, ok := allowed[d.names[i]+":"+name.Name]; ok || name.Name == "_" {
						continue
					}
					if why := d.mutable(v, j); why != "" {
						bad = append(bad, fmt.Sprintf("%s:%d: package-level variable %s %s: use a field, a parameter, a const or a function that returns it",
							d.names[i], d.fset.Position(name.Pos()).Line, name.Name, why))
					}
				}
			}
		}
	}
	return bad
}

// embedded tells whether the compiler fills the variable from a file.
func embedded(gen *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{gen.Doc, v.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

// mutable says why the j-th variable of v counts as one that changes, "" if it does not.
func (d *dir) mutable(v *ast.ValueSpec, j int) string {
	if len(v.Values) != len(v.Names) {
		return "starts without a value of its own"
	}
	name := v.Names[j]
	switch x := v.Values[j].(type) {
	case *ast.CallExpr:
		if sel, ok := x.Fun.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(constantCalls(), pkg.Name+"."+sel.Sel.Name) {
				return d.written(v, name.Name)
			}
		}
		if _, ok := x.Fun.(*ast.ArrayType); !ok {
			return "holds what a function made"
		}
	case *ast.UnaryExpr: // a sentinel that carries data
		if x.Op != token.AND || !strings.HasPrefix(strings.ToLower(name.Name), "err") {
			return "is no table and no sentinel"
		}
		return d.written(v, name.Name)
	case *ast.SelectorExpr: // another package's sentinel, by its name
		if x.Sel.Name != name.Name || !strings.HasPrefix(name.Name, "Err") {
			return "is no table and no sentinel"
		}
		return d.written(v, name.Name)
	case *ast.CompositeLit:
		switch x.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
		default:
			return "holds a struct"
		}
	default:
		return "is no table and no sentinel"
	}
	if name.IsExported() {
		return "is a table that other packages can write to"
	}
	return d.written(v, name.Name)
}

// written looks in the whole package, tests included, for a statement that changes the variable called name.
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

// ours tells whether id stands for the package's variable and not for a local one of the same name: the parser
// resolves what a file declares itself, and leaves open what another file of the package declares.
func (w *writes) ours(id *ast.Ident) bool {
	return id.Obj == nil || id.Obj.Decl == w.spec
}
