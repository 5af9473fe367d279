package lint

import "testing"

func TestCheckTags(t *testing.T) {
	tagged := func(path, line, name string) File { return File{path, []byte(line + "\n\npackage " + name + "\n")} }
	held := func(dir, name string) File { return File{dir + "/" + untaggedFile, UntaggedTest(name)} }
	for _, tc := range []struct {
		name  string
		files []File
		want  string // in the only complaint; "" = none
	}{
		{"no tag", []File{file("a/a_test.go", "")}, ""},
		{"another tag", []File{tagged("a/a_test.go", "//go:build linux", "a")}, ""},
		{"without the tag", []File{tagged("a/a_test.go", "//go:build !synctests", "a")}, ""},
		{"code behind the tag", []File{tagged("a/a.go", "//go:build synctests", "a")}, ""},
		{"held", []File{tagged("a/a_test.go", "//go:build synctests", "a"), held("a", "a")}, ""},
		{"held, for an external test", []File{tagged("a/a_test.go", "//go:build synctests", "a_test"), held("a", "a")}, ""},
		{"not held", []File{tagged("a/a_test.go", "//go:build synctests", "a")}, "a/a_test.go needs the build tag synctests, without which go test leaves it out and passes: add a/untagged_test.go"},
		{"not held, with a condition", []File{tagged("a/a_test.go", "//go:build linux && synctests", "a")}, "add a/untagged_test.go"},
		{"not held, with the opposite of another tag", []File{tagged("a/a_test.go", "//go:build !race && synctests", "a")}, "add a/untagged_test.go"},
		{"held in another directory", []File{tagged("a/b/a_test.go", "//go:build synctests", "b"), tagged("a/a_test.go", "//go:build synctests", "a"), held("a", "a")}, "add a/b/untagged_test.go"},
		{"another text", []File{tagged("a/a_test.go", "//go:build synctests", "a"), held("a", "b")}, "a/untagged_test.go differs"},
		{"held in vain", []File{file("a/a_test.go", ""), held("a", "a")}, "a/untagged_test.go: no test of the package needs"},
		{"broken", []File{tagged("a/a_test.go", "//go:build synctests", ""), held("a", "a")}, "a/a_test.go does not parse"},
	} {
		t.Run(tc.name, func(t *testing.T) { one(t, CheckTags(tc.files), tc.want) })
	}
}
