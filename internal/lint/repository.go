package lint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ListPackages asks the go command for every package below root.
func ListPackages(ctx context.Context, root string) ([]Package, error) {
	out, err := output(ctx, root, "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	var graph []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return graph, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list printed no package: %w", err)
		}
		graph = append(graph, Package{p.ImportPath, p.Imports, slices.Concat(p.TestImports, p.XTestImports)})
	}
}

// ReadFiles reads the files of the repository: those that git tracks or would track. If root is not
// a clone, it reads all files except those in the folders .git, bin and data.
func ReadFiles(ctx context.Context, root string) ([]File, error) {
	paths, err := listFiles(ctx, root)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, p := range paths {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, but not yet committed
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read a tracked file: %w", err)
		}
		files = append(files, File{p, text})
	}
	return files, nil
}

func listFiles(ctx context.Context, root string) ([]string, error) {
	out, err := output(ctx, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
	}
	var paths []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "data") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	return paths, err
}

// output runs a command in dir and returns its standard output.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, talk.Bytes())
	}
	return out, nil
}
