// Package lint checks the rules of this repository that no linter knows. Its tests run the checks
// on every file.
//
//	go list ─▶ []Package ─▶ CheckImports ─┐
//	git ls-files ─▶ []File ─▶ CheckEvents ─┤
//	                       ├▶ CheckTags ──┤
//	                       ├▶ CheckText ──┼─▶ complaints, each with what to use instead
//	                       ├▶ CheckWidth ─┤
//	                       ├▶ CheckWords ─┤
//	                       └▶ CheckWrites ┘
//
// The checks are pure functions, so that their own tests can show them a tree that breaks each
// rule: a check that cannot fail is worth nothing. A rule that parts of the repository still break
// has a list of these parts in repository_test.go; Outside finds the parts that are clean by now.
//
// What golangci-lint can check is in .golangci.yml and not here: lengths of files and functions,
// numbers of parameters, init functions, package-level variables, package comments.
package lint
